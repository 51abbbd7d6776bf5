// Package cgrouptest makes control groups for tests.
package cgrouptest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/cgroup"
)

// Dir makes a control group for a process of the test, which enters it by its file cgroup.procs. Below it memory can be
// limited. It returns an empty path where this machine gives the test none. The test fails if a group is left below.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := below(t, cgroup.Own(cgroup.Memory)); dir != "" {
		return dir
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		if !strings.HasPrefix(right, "cgroup2 ") {
			continue
		}
		root := strings.Fields(left)[4]
		on, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control"))
		if names := strings.Fields(string(on)); err == nil && slices.Contains(names, cgroup.Memory) &&
			slices.Contains(names, "pids") {
			return below(t, root)
		}
	}
	return ""
}

// Groups returns control groups of this process: with limits of memory where those of version 1 have them and the test
// may make one.
func Groups(t testing.TB) *cgroup.Groups {
	t.Helper()
	g := cgroup.Open(below(t, cgroup.Own(cgroup.Memory)))
	t.Cleanup(g.Close)
	return g
}

// below makes a group, which has to be empty when the test ends.
func below(t testing.TB, root string) string {
	t.Helper()
	if root == "" {
		return ""
	}
	dir, err := os.MkdirTemp(root, "writ-test-")
	if err != nil {
		return ""
	}
	t.Cleanup(func() {
		_ = os.Remove(filepath.Join(dir, cgroup.ServerLeaf))
		if err := cgroup.Remove(dir); err != nil {
			t.Errorf("remove the control group %s: %v", dir, err)
		}
	})
	return dir
}
