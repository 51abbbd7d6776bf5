package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cgroups manages the control groups of the runs. It reuses groups without a limit of memory: making and removing one
// costs more than starting a small process.
type cgroups struct {
	dir     string
	limited bool // its groups can have limits

	mu      sync.Mutex
	off     bool
	created int
	idle    map[Limits][]*cgroup
	all     map[*cgroup]bool
}

// cgroup is one control group. Its control files stay open; they are read and written at offset 0.
type cgroup struct {
	path          string
	limits        Limits
	dir, events   *os.File
	killer, procs *os.File
	killed        bool
	exhausted     bool // the kernel ended it for its limit of memory
}

// errNoGroups is why there are no limits.
var errNoGroups = errors.New("this process may not make control groups of version 2")

// openCgroups makes the parent of the groups, below the server's own group if root is empty. It returns nil if that
// fails, and why the groups have no limits, nil if they can have some.
func openCgroups(root string) (*cgroups, error) {
	if root == "" {
		root = ownGroup()
	}
	if root == "" {
		return nil, errNoGroups
	}
	removeStale(root)
	unlimited := delegate(root)
	dir, err := os.MkdirTemp(root, fmt.Sprintf("writ-%d-", os.Getpid()))
	if err != nil {
		return nil, cmp.Or(unlimited, errNoGroups)
	}
	if unlimited == nil {
		unlimited = enable(dir)
	}
	b := &cgroups{dir: dir, limited: unlimited == nil, idle: make(map[Limits][]*cgroup), all: make(map[*cgroup]bool)}
	first, err := b.take(Limits{})
	if first == nil || err != nil {
		b.close()
		return nil, cmp.Or(unlimited, errNoGroups)
	}
	b.release(first)
	return b, unlimited
}

// ownGroup returns the directory of this process's group in the v2 hierarchy, empty for none. A process that moved to a
// leaf before has the group above it.
func ownGroup() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	point := ""
	for line := range strings.Lines(string(mounts)) {
		left, right, ok := strings.Cut(line, " - ")
		if f := strings.Fields(left); ok && strings.HasPrefix(right, "cgroup2 ") && len(f) > 4 {
			point = f[4]
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || point == "" {
		return ""
	}
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			if filepath.Base(path) == serverLeaf {
				path = filepath.Dir(path)
			}
			return filepath.Join(point, path)
		}
	}
	return ""
}

// removeStale removes the empty groups of servers that ended. The kernel refuses to remove populated ones.
func removeStale(root string) {
	old, err := filepath.Glob(filepath.Join(root, "writ-*-*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
		if err != nil || pid == os.Getpid() {
			continue
		}
		if _, err := readStat(pid); err == nil {
			continue
		}
		children, _ := filepath.Glob(filepath.Join(dir, "run-*"))
		for _, c := range children {
			_ = os.Remove(c)
		}
		_ = os.Remove(dir)
	}
}

func (b *cgroups) usable() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.off
}

// disable makes take return nil from now on: this kernel or container does not let processes start in a group.
func (b *cgroups) disable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = true
}

// take returns an empty group with these limits as far as groups can have any, or nil if none is available. An error
// says why there is none although it would have had limits.
func (b *cgroups) take(l Limits) (*cgroup, error) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return nil, nil
	}
	if !b.limited {
		l = Limits{}
	}
	if n := len(b.idle[l]); n > 0 {
		x := b.idle[l][n-1]
		b.idle[l] = b.idle[l][:n-1]
		return x, nil
	}
	b.created++
	x, err := newCgroup(filepath.Join(b.dir, "run-"+strconv.Itoa(b.created)), l)
	if err != nil {
		if l != (Limits{}) {
			return nil, fmt.Errorf("make a control group with limits: %w", err)
		}
		return nil, nil
	}
	b.all[x] = true
	return x, nil
}

func (b *cgroups) release(x *cgroup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle[x.limits] = append(b.idle[x.limits], x)
}

// empty ends the remaining processes of the group and returns it to the pool. A group with a limit of memory is not
// reused, since files that a run has read stay counted. One that was killed or cannot be emptied is not either: kernels
// that count kills compare a new member's count with that of the group it was cloned from, and kill it at once.
func (b *cgroups) empty(x *cgroup) {
	if x.populated() && len(x.members()) > 0 {
		endAll(context.Background(), x.members, termGrace)
	}
	if !x.settle() {
		x.kill()
		x.settle()
	}
	if x.limits.Memory > 0 {
		events, _ := os.ReadFile(filepath.Join(x.path, "memory.events"))
		x.exhausted = oomKills(events) > 0
	}
	if !x.killed && x.limits.Memory == 0 {
		b.release(x)
		return
	}
	b.mu.Lock()
	delete(b.all, x)
	b.mu.Unlock()
	x.close()
	_ = os.Remove(x.path)
}

func (b *cgroups) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = true
	for x := range b.all {
		x.close()
		_ = os.Remove(x.path)
	}
	_ = os.Remove(b.dir)
}

func newCgroup(path string, l Limits) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	x := &cgroup{path: path, limits: l}
	var errs [5]error
	x.dir, errs[0] = os.Open(path)
	x.events, errs[1] = os.Open(filepath.Join(path, "cgroup.events"))
	x.procs, errs[2] = os.Open(filepath.Join(path, "cgroup.procs"))
	x.killer, errs[3] = os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
	errs[4] = l.limit(path)
	if err := errors.Join(errs[:]...); err != nil {
		x.close()
		_ = os.Remove(path)
		return nil, err
	}
	return x, nil
}

func (x *cgroup) close() {
	for _, f := range []*os.File{x.dir, x.events, x.procs, x.killer} {
		if f != nil {
			f.Close()
		}
	}
}

func (x *cgroup) fd() int { return int(x.dir.Fd()) }

// kill ends every process of the group at once, also those that are being forked.
func (x *cgroup) kill() {
	if x != nil {
		x.killed = true
		_, _ = x.killer.WriteAt([]byte("1"), 0)
	}
}

func (x *cgroup) populated() bool {
	var b [128]byte
	n, _ := x.events.ReadAt(b[:], 0)
	return !bytes.Contains(b[:n], []byte("populated 0"))
}

// stats lists the group's processes. The kernel omits zombies.
func (x *cgroup) stats() []stat {
	var out []stat
	b := make([]byte, 64<<10)
	n, _ := x.procs.ReadAt(b, 0)
	for f := range bytes.FieldsSeq(b[:n]) {
		pid, err := strconv.Atoi(string(f))
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.alive() {
			out = append(out, s)
		}
	}
	return out
}

func (x *cgroup) members() []process {
	var out []process
	for _, s := range x.stats() {
		out = append(out, process{s.pid, s.start})
	}
	return out
}

// settle waits until the kernel counts the group as empty, which can lag behind the end of the last process.
func (x *cgroup) settle() bool {
	giveUp := time.NewTimer(killWait)
	defer giveUp.Stop()
	for pause := shortest / 10; x.populated(); pause = min(2*pause, longest) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-giveUp.C:
			next.Stop()
			return false
		}
	}
	return true
}
