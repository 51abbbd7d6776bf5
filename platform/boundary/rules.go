package boundary

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
)

// Kinds of access to files that landlock distinguishes. Reading directories is never restricted, so that names stay
// visible and programs that list a path's parents work.
const (
	accessExecute = 1
	accessRead    = 1 << 2
	accessBase    = accessExecute | 1<<1 | accessRead | 0x1fff&^0xf // ABI 1, without READ_DIR
	accessRefer   = 1 << 13                                         // ABI 2
	accessCut     = 1 << 14                                         // ABI 3
	accessLook    = accessExecute | accessRead
)

func handled(abi int) uint64 {
	h := uint64(accessBase)
	if abi >= 2 {
		h |= accessRefer
	}
	if abi >= 3 {
		h |= accessCut
	}
	return h
}

// rules returns the access that landlock restricts, and the rules that allow everything except below what is hidden. A
// rule holds for everything below a path, so the neighbours of a hidden directory are allowed one by one.
func (b *Boundary) rules(c Command) (uint64, []child.Rule) {
	all := handled(b.status.LandlockABI)
	var out []child.Rule
	allow := func(path string, access uint64) { out = append(out, child.Rule{Path: path, Access: access}) }
	// A run of the server's account could leave its control group.
	const groups = "/sys/fs/cgroup"
	hidden := append(b.hiddenFrom(c), groups)
	allow(groups, accessLook)
	pending := []string{"/"}
	for len(pending) > 0 {
		dir := pending[0]
		pending = pending[1:]
		if !slices.ContainsFunc(hidden, func(h string) bool { return below(dir, h) }) {
			allow(dir, all)
			continue
		}
		if slices.Contains(hidden, dir) {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			pending = append(pending, filepath.Join(dir, e.Name()))
		}
	}
	for _, p := range b.shown(c) {
		access := uint64(accessLook)
		if p.Write {
			access = all
		}
		if name := real(p.Name); slices.ContainsFunc(hidden, func(h string) bool { return below(h, name) }) {
			allow(name, access)
		}
	}
	return all, out
}
