package cgroup

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOwnGroup reads what the kernel says about mounts and groups.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	const (
		mixed = "30 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
			"31 25 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
			"32 25 0:29 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
		container = "40 35 0:29 /docker/a1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
		unified   = "30 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct{ mounts, groups, controller, want string }{
		"version 1":            {mixed, "4:cpu:/c\n3:memory:/a/b\n0::/u\n", Memory, "/sys/fs/cgroup/memory/a/b"},
		"version 2 beside it":  {mixed, "4:cpu:/c\n3:memory:/a/b\n0::/u\n", "", "/sys/fs/cgroup/unified/u"},
		"with a colon":         {mixed, "3:cpuset,memory:/a:b\n", Memory, "/sys/fs/cgroup/memory/a:b"},
		"a named hierarchy":    {mixed, "3:name=memory:/a\n", Memory, ""},
		"a part of the groups": {container, "3:memory:/docker/a1/x\n", Memory, "/sys/fs/cgroup/memory/x"},
		"its root":             {container, "3:memory:/docker/a1\n", Memory, "/sys/fs/cgroup/memory"},
		"a path inside":        {container, "3:memory:/x\n", Memory, "/sys/fs/cgroup/memory/x"},
		"version 2 alone":      {unified, "0::/system.slice/writ.service\n", Memory, ""},
		"a leaf":               {unified, "0::/s/" + ServerLeaf + "\n", "", "/sys/fs/cgroup/s"},
		"nothing":              {"", "0::/\n", "", ""},
	} {
		if got := groupIn(c.mounts, c.groups, c.controller); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
