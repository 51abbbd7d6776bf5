package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// boundaryThreads is how many of the processes of a group are threads of the boundary itself, at most.
const boundaryThreads = 32

// ServerLeaf is the name of the group of the server, beside those of the runs.
const ServerLeaf = "writ-server"

// delegate makes the groups below root limit memory and processes. The kernel allows that only where root has no
// process itself, so this one moves to a group below it. It returns an error that says why there are no limits.
func delegate(root string) error {
	offered, err := fieldsOf(filepath.Join(root, "cgroup.controllers"))
	if err != nil || !slices.Contains(offered, Memory) || !slices.Contains(offered, "pids") {
		return fmt.Errorf("the control group %s has no memory controller of version 2", root)
	}
	if on, err := fieldsOf(filepath.Join(root, "cgroup.subtree_control")); err == nil && slices.Contains(on, Memory) &&
		slices.Contains(on, "pids") {
		return nil
	}
	self := strconv.Itoa(os.Getpid())
	present, err := fieldsOf(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("the control group %s cannot be read: %w", root, err)
	}
	if slices.ContainsFunc(present, func(pid string) bool { return pid != self }) {
		return fmt.Errorf("the control group %s has processes beside this one", root)
	}
	leaf := filepath.Join(root, ServerLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the control group %s is not delegated to this process: %w", root, err)
	}
	if err = put(leaf, "cgroup.procs", self); err == nil {
		err = enable(root)
	}
	if err != nil {
		return fmt.Errorf("the control group %s is not delegated to this process: %w", root,
			errors.Join(err, put(root, "cgroup.procs", self), os.Remove(leaf)))
	}
	return nil
}

func enable(group string) error { return put(group, "cgroup.subtree_control", "+memory +pids") }

// limit sets the limits of a group that has no process yet. What reaches the limit ends as a whole.
func (l Limits) limit(group string) error {
	var errs []error
	if l.Memory > 0 {
		errs = append(errs, put(group, "memory.max", strconv.FormatInt(l.Memory, 10)), put(group, "memory.oom.group", "1"))
		if err := put(group, "memory.swap.max", "0"); !errors.Is(err, fs.ErrNotExist) { // missing where swap is not counted
			errs = append(errs, err)
		}
	}
	if l.Processes > 0 {
		errs = append(errs, put(group, "pids.max", strconv.Itoa(l.Processes+boundaryThreads)))
	}
	return errors.Join(errs...)
}

func fieldsOf(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return strings.Fields(string(b)), err
}

// version2 is a group of version 2. Its control files stay open; they are read and written at offset 0.
type version2 struct {
	dir, events, killer, procs *os.File
}

func newVersion2(path string, l Limits) (*version2, error) {
	x := &version2{}
	var errs [5]error
	x.dir, errs[0] = os.Open(path)
	x.events, errs[1] = os.Open(filepath.Join(path, "cgroup.events"))
	x.procs, errs[2] = os.Open(filepath.Join(path, "cgroup.procs"))
	x.killer, errs[3] = os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
	errs[4] = l.limit(path)
	return x, errors.Join(errs[:]...)
}

func (x *version2) start(attr *syscall.SysProcAttr, fn func() error) error {
	attr.UseCgroupFD, attr.CgroupFD = true, int(x.dir.Fd())
	return fn()
}

func (x *version2) kill() { _, _ = x.killer.WriteAt([]byte("1"), 0) }

func (x *version2) populated() bool {
	var b [128]byte
	n, _ := x.events.ReadAt(b[:], 0)
	return !bytes.Contains(b[:n], []byte("populated 0"))
}

func (x *version2) pids() []int {
	b := make([]byte, 64<<10)
	n, _ := x.procs.ReadAt(b, 0)
	return pidsOf(b[:n])
}

func (x *version2) countFile() string { return "memory.events" }

func (x *version2) close() {
	for _, f := range []*os.File{x.dir, x.events, x.procs, x.killer} {
		if f != nil {
			f.Close()
		}
	}
}
