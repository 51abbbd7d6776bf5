package proc

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
)

// Limits are what the processes of one command may use together. Zero members are no limit.
type Limits struct {
	Memory    int64 // bytes, swap included
	Processes int
}

// boundaryThreads is how many of the processes of a group are threads of the boundary itself, at most.
const boundaryThreads = 32

// serverLeaf is the group of the server, beside those of the runs.
const serverLeaf = "writ-server"

// delegate makes the groups below root limit memory and processes. The kernel allows that only where root has no
// process itself, so this one moves to a group below it. It returns an error that says why there are no limits.
func delegate(root string) error {
	offered, err := fieldsOf(filepath.Join(root, "cgroup.controllers"))
	if err != nil || !slices.Contains(offered, "memory") || !slices.Contains(offered, "pids") {
		return fmt.Errorf("the control group %s has no memory controller of version 2", root)
	}
	if on, err := fieldsOf(filepath.Join(root, "cgroup.subtree_control")); err == nil && slices.Contains(on, "memory") &&
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
	leaf := filepath.Join(root, serverLeaf)
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

// oomKills returns how many processes of a group the kernel ended for the group's limit, from memory.events.
func oomKills(events []byte) int {
	for line := range bytes.Lines(events) {
		if text, ok := strings.CutPrefix(string(line), "oom_kill "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err == nil {
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

func fieldsOf(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return strings.Fields(string(b)), err
}
