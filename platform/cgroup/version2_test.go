package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDelegateNamesWhatIsMissing gives it groups that cannot limit anything. The files imitate those of the kernel as
// far as they are read; what the kernel does with a write is tested with real groups alone.
func TestDelegateNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	self, offered := strconv.Itoa(os.Getpid()), "cpu memory pids\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // of the reason; empty: there are limits
	}{
		"no group":        {nil, "no memory controller"},
		"no memory":       {map[string]string{"cgroup.controllers": "cpu hugetlb pids\n"}, "no memory controller"},
		"another process": {map[string]string{"cgroup.controllers": offered, "cgroup.procs": "1\n" + self + "\n"}, "beside"},
		"not delegated":   {map[string]string{"cgroup.controllers": offered, "cgroup.procs": self + "\n"}, "not delegated"},
		"done before": {map[string]string{"cgroup.controllers": offered,
			"cgroup.subtree_control": "memory pids\n"}, ""},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := delegate(root)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(root, ServerLeaf)); err == nil {
			t.Errorf("%s: a group is left", name)
		}
	}
}

func TestCountOfKills(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"low 0\nhigh 0\nmax 21\noom 3\noom_kill 2\noom_group_kill 1\n": 2,
		"low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n":  0,
		"max 4\noom 4\noom_group_kill 1\n":                             0,
		"oom_kill x\n":                                                 0,
		"":                                                             0,
	} {
		if n := killsIn([]byte(text)); n != want {
			t.Errorf("%q: %d", text, n)
		}
	}
}
