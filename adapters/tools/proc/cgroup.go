package proc

import (
	"bytes"
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

// cgroups manages the control groups of the runs. It reuses groups: making and removing one costs more than starting a
// small process.
type cgroups struct {
	dir string

	mu      sync.Mutex
	off     bool
	created int
	idle    []*cgroup
	all     map[*cgroup]bool
}

// cgroup is one control group. Its control files stay open; they are read and written at offset 0.
type cgroup struct {
	path          string
	dir, events   *os.File
	killer, procs *os.File
	killed        bool
}

// openCgroups makes the parent of the groups, below the server's own group if root is empty. It returns nil if that
// fails.
func openCgroups(root string) *cgroups {
	if root == "" {
		root = ownGroup()
	}
	if root == "" {
		return nil
	}
	removeStale(root)
	dir, err := os.MkdirTemp(root, fmt.Sprintf("writ-%d-", os.Getpid()))
	if err != nil {
		return nil
	}
	b := &cgroups{dir: dir, all: make(map[*cgroup]bool)}
	first := b.take()
	if first == nil {
		b.close()
		return nil
	}
	b.release(first)
	return b
}

// ownGroup returns the directory of this process's group in the v2 hierarchy, empty for none.
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

// take returns an empty group, or nil if none is available.
func (b *cgroups) take() *cgroup {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return nil
	}
	if n := len(b.idle); n > 0 {
		x := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return x
	}
	b.created++
	x, err := newCgroup(filepath.Join(b.dir, "run-"+strconv.Itoa(b.created)))
	if err != nil {
		return nil
	}
	b.all[x] = true
	return x
}

func (b *cgroups) release(x *cgroup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, x)
}

// empty ends the remaining processes of the group and returns it to the pool. A group that was killed or cannot be
// emptied is not reused: kernels that count kills compare a new member's count with that of the group it was cloned
// from, and kill it at once.
func (b *cgroups) empty(x *cgroup) {
	if x.populated() && len(x.members()) > 0 {
		endAll(context.Background(), x.members, termGrace)
	}
	if !x.settle() {
		x.kill()
		x.settle()
	}
	if !x.killed {
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

func newCgroup(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	x := &cgroup{path: path}
	var errs [4]error
	x.dir, errs[0] = os.Open(path)
	x.events, errs[1] = os.Open(filepath.Join(path, "cgroup.events"))
	x.procs, errs[2] = os.Open(filepath.Join(path, "cgroup.procs"))
	x.killer, errs[3] = os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
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
