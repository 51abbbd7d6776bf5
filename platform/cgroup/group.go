package cgroup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// killWait bounds the wait for processes that do not react to SIGKILL: those in an uninterruptible call.
	killWait = 5 * time.Second
	shortest = 50 * time.Microsecond
	longest  = 20 * time.Millisecond
)

// Group is one control group. Its methods Start and Kill work on nil, for a process without a group.
type Group struct {
	path    string
	limits  Limits
	version version
	killed  atomic.Bool
}

// version is what differs between the versions of control groups.
type version interface {
	// start calls fn, which starts one process with the attributes, so that the process begins in the group.
	start(attr *syscall.SysProcAttr, fn func() error) error
	// kill ends every process of the group.
	kill()
	// populated reports whether the group has a process.
	populated() bool
	// pids lists the processes. The kernel omits zombies.
	pids() []int
	// countFile is the control file with the count of processes that the kernel ended.
	countFile() string
	// close releases what is held for the group.
	close()
}

// newGroup makes a group of version 2, or one of version 1 for a process whose own group is home.
func newGroup(path string, l Limits, home string) (*Group, error) {
	if err := os.Mkdir(path, 0o755); err != nil { //nolint:gosec // as its parent
		return nil, err
	}
	x := &Group{path: path, limits: l}
	var err error
	if home != "" {
		x.version, err = newVersion1(path, home, l.Memory)
	} else {
		x.version, err = newVersion2(path, l)
	}
	if err != nil {
		x.remove()
		return nil, err
	}
	return x, nil
}

func (x *Group) remove() {
	x.version.close()
	_ = Remove(x.path)
}

// Limits returns the limits that the group has.
func (x *Group) Limits() Limits { return x.limits }

// Start calls fn, which starts one process with the attributes, so that the process begins in the group. It returns the
// error of fn, or why no process can start in the group.
func (x *Group) Start(attr *syscall.SysProcAttr, fn func() error) error {
	if x == nil {
		return fn()
	}
	return x.version.start(attr, fn)
}

// Kill ends every process of the group at once, also those that are being forked.
func (x *Group) Kill() {
	if x != nil {
		x.killed.Store(true)
		x.version.kill()
	}
}

// Populated reports whether the group has a process.
func (x *Group) Populated() bool { return x.version.populated() }

// PIDs lists the processes of the group, without zombies.
func (x *Group) PIDs() []int { return x.version.pids() }

func pidsOf(list []byte) []int {
	var out []int
	for f := range bytes.FieldsSeq(list) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// settle waits until the kernel counts the group as empty, which can lag behind the end of the last process.
func (x *Group) settle() bool {
	giveUp := time.NewTimer(killWait)
	defer giveUp.Stop()
	for pause := shortest; x.Populated(); pause = min(2*pause, longest) {
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

// oomKills returns how many processes of a group the kernel ended for memory, from a control file.
func oomKills(group, file string) int {
	text, _ := os.ReadFile(filepath.Join(group, file))
	return killsIn(text)
}

func killsIn(text []byte) int {
	for line := range bytes.Lines(text) {
		if count, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			if n, err := strconv.Atoi(string(bytes.TrimSpace(count))); err == nil {
				return n
			}
		}
	}
	return 0
}

// put writes to a control file, which exists if the kernel offers it.
func put(group, file, text string) error {
	f, err := os.OpenFile(filepath.Join(group, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
