package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are what the processes of one group may use together. Zero members are no limit.
type Limits struct {
	Memory    int64 // bytes, swap included
	Processes int
}

// Groups makes the control groups of this process. It reuses groups without a limit of memory: making and removing one
// costs more than starting a small process. Its methods work on nil, which has no groups, and are safe for concurrent
// use.
type Groups struct {
	roots     []string // this process's groups: those of its servers are below
	dir       string   // of the groups of version 2, empty for none
	limited   bool     // those can have limits
	legacy    string   // where groups of version 1 can limit memory, empty for nowhere
	home      string   // this process's group of version 1
	unlimited error    // why there are no limits of memory

	mu        sync.Mutex
	off       bool
	created   int
	legacyDir string // of the groups of version 1, made for the first one
	idle      map[Limits][]*Group
	all       map[*Group]bool
}

// errNoGroups is why there are no limits.
var errNoGroups = errors.New("this process may not make control groups")

// Open makes the parent of the groups of version 2, below this process's own group or root, if that is not empty. A
// root of version 1 is used for groups with a limit of memory alone. Where no groups can be made, Take returns none.
func Open(root string) *Groups {
	g := &Groups{unlimited: errNoGroups, idle: make(map[Limits][]*Group), all: make(map[*Group]bool)}
	g.home = Own(Memory)
	two, one := root, ""
	if root == "" {
		two, one = Own(""), g.home
	} else if _, err := os.Stat(filepath.Join(root, limitFile)); err == nil {
		two, one = "", root
	}
	if two != "" {
		g.roots = append(g.roots, two)
		g.removeStale()
		g.openVersion2(two)
	}
	if one != "" && !g.limited {
		g.roots = append(g.roots, one)
		g.removeStale()
		if g.unlimited = limitsMemory(one); g.unlimited == nil {
			g.legacy = one
		}
	}
	return g
}

// openVersion2 makes the parent of the groups of version 2.
func (g *Groups) openVersion2(root string) {
	g.unlimited = delegate(root)
	dir, err := os.MkdirTemp(root, prefix())
	if err != nil {
		g.unlimited = cmp.Or(g.unlimited, errNoGroups)
		return
	}
	if g.unlimited == nil {
		g.unlimited = enable(dir)
	}
	g.dir, g.limited = dir, g.unlimited == nil
	first, err := g.Take(Limits{})
	if first == nil || err != nil {
		_ = os.Remove(dir)
		g.dir, g.limited, g.unlimited = "", false, cmp.Or(g.unlimited, errNoGroups)
		return
	}
	g.release(first)
}

// prefix begins the names of the directories of this process.
func prefix() string { return fmt.Sprintf("writ-%d-", os.Getpid()) }

// Unlimited returns why the memory of groups cannot be limited, nil if it can.
func (g *Groups) Unlimited() error {
	if g == nil {
		return errNoGroups
	}
	return g.unlimited
}

// LimitsProcesses reports whether groups can limit the number of processes.
func (g *Groups) LimitsProcesses() bool { return g != nil && g.limited }

// Usable reports whether there are groups for commands without limits.
func (g *Groups) Usable() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dir != "" && !g.off
}

// Disable makes Take return no groups without limits from now on: this kernel or container does not let processes start
// in one.
func (g *Groups) Disable() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.off = true
}

// Take returns an empty group with these limits as far as groups can have any, or nil if none is available. An error
// says why there is none although it would have had limits.
func (g *Groups) Take(l Limits) (*Group, error) {
	if g == nil {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	dir, home := g.dir, ""
	switch {
	case g.legacy != "" && l.Memory > 0:
		if err := g.makeLegacyDir(); err != nil {
			return nil, fmt.Errorf("make a control group with limits: %w", err)
		}
		dir, home, l = g.legacyDir, g.home, Limits{Memory: l.Memory}
	case g.off || dir == "":
		return nil, nil
	case !g.limited:
		l = Limits{}
	}
	if n := len(g.idle[l]); n > 0 {
		x := g.idle[l][n-1]
		g.idle[l] = g.idle[l][:n-1]
		return x, nil
	}
	g.created++
	x, err := newGroup(filepath.Join(dir, "run-"+strconv.Itoa(g.created)), l, home)
	if err != nil {
		if l != (Limits{}) {
			return nil, fmt.Errorf("make a control group with limits: %w", err)
		}
		return nil, nil
	}
	g.all[x] = true
	return x, nil
}

// makeLegacyDir makes the parent of the groups of version 1.
func (g *Groups) makeLegacyDir() (err error) {
	if g.legacyDir == "" {
		g.legacyDir, err = os.MkdirTemp(g.legacy, prefix())
	}
	return err
}

func (g *Groups) release(x *Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle[x.limits] = append(g.idle[x.limits], x)
}

// Return takes back a group, whose processes it kills if they do not end soon, and reports whether the kernel ended one
// of them for the limit of memory. A group with a limit of memory is not reused, since files that a run has read stay
// counted. One that was killed or cannot be emptied is not either: kernels that count kills compare the count of a new
// member with that of the group it was cloned from, and kill it at once.
func (g *Groups) Return(x *Group) (exhausted bool) {
	if !x.settle() {
		x.Kill()
		x.settle()
	}
	if x.limits.Memory == 0 && !x.killed.Load() {
		g.release(x)
		return false
	}
	exhausted = x.limits.Memory > 0 && oomKills(x.path, x.version.countFile()) > 0
	g.mu.Lock()
	delete(g.all, x)
	g.mu.Unlock()
	x.remove()
	return exhausted
}

// Close removes the groups. No process is left in them.
func (g *Groups) Close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.off, g.legacy = true, ""
	for x := range g.all {
		x.remove()
	}
	clear(g.all)
	for _, dir := range []string{g.dir, g.legacyDir} {
		if dir != "" {
			_ = Remove(dir)
		}
	}
	g.removeStale() // what it could not remove at the start had processes then
}

// removeStale removes the empty groups of servers that ended. The kernel refuses to remove populated ones.
func (g *Groups) removeStale() {
	for _, root := range g.roots {
		old, _ := filepath.Glob(filepath.Join(root, "writ-*-*"))
		for _, dir := range old {
			pid, err := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
			if err != nil || unix.Kill(pid, 0) != unix.ESRCH {
				continue
			}
			children, _ := filepath.Glob(filepath.Join(dir, "run-*"))
			for _, c := range append(children, dir) {
				_ = unix.Rmdir(c)
			}
		}
	}
}

// Remove removes a group without processes. It waits for the kernel, which may hold the group for a moment after the
// end of its last process.
func Remove(dir string) (err error) {
	const tries = 25
	for range tries {
		if err = unix.Rmdir(dir); err != unix.EBUSY {
			return err
		}
		<-time.After(longest)
	}
	return err
}

// Memory is the controller of memory.
const Memory = "memory"

// Own returns the directory of this process's group of version 1 for a controller, of version 2 for an empty name. It
// returns an empty path if there is none. A process that moved to a leaf before has the group above it.
func Own(controller string) string {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/thread-self/cgroup") // other threads may be in the group of a process they start
	return groupIn(string(mounts), string(groups), controller)
}

func groupIn(mounts, groups, controller string) string {
	fileSystem, point, mounted := "cgroup", "", ""
	if controller == "" {
		fileSystem = "cgroup2"
	}
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if ok && len(l) > 4 && len(r) > 2 && r[0] == fileSystem && (controller == "" || lists(r[2], controller)) {
			mounted, point = l[3], l[4]
		}
	}
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if point == "" || len(f) < 3 || (f[1] != "" || controller != "") && !lists(f[1], controller) {
			continue
		}
		path := f[2]
		if filepath.Base(path) == ServerLeaf {
			path = filepath.Dir(path)
		}
		// A container sees a part of the hierarchy, and the path of its group may be that in the whole.
		if rest := strings.TrimPrefix(path, mounted); mounted != "/" && rest != path {
			path = rest
		}
		return filepath.Join(point, path)
	}
	return ""
}

// lists reports whether a list that is separated by commas has a name.
func lists(list, name string) bool { return strings.Contains(","+list+",", ","+name+",") }
