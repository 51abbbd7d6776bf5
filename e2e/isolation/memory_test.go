package isolation

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// group makes a control group whose memory can be limited, for a server. It returns an empty path where this machine
// gives the test none.
func group(t *testing.T) string {
	t.Helper()
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
		if names := strings.Fields(string(on)); err != nil || !slices.Contains(names, "memory") ||
			!slices.Contains(names, "pids") {
			continue
		}
		dir, err := os.MkdirTemp(root, "writ-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(filepath.Join(dir, "writ-server")); _ = os.Remove(dir) })
		return dir
	}
	return ""
}

// TestMemory limits the memory of runs. Where control groups are delegated, a run over its limit ends and says why.
// Everywhere else nothing limits it, and the server says so at its start, in the list of workers and in the doctor. A
// run that somebody killed is never stated as one that the kernel ended, and one whose server died is interrupted.
// Keeps F35.
func TestMemory(t *testing.T) {
	t.Parallel()
	o := harness.Options{Flags: []string{"--run-memory", "128MiB"}}
	dir := group(t)
	if dir != "" {
		o.Wrap = []string{"sh", "-c", `echo $$ >` + dir + `/cgroup.procs && exec "$@"`, "sh"}
	}
	s := harness.Start(t, o)
	try := func(command string) harness.Run {
		return s.Await(s.Submit(harness.Body{"tool": "bash", "command": command}).ID)
	}
	greedy := try(`python3 -c 'b = bytearray(400 << 20)'; echo survived`)
	stated := strings.Contains(greedy.Error, "memory limit reached: the run used more than 128 MiB")
	if limited := dir != ""; limited != (greedy.Status == "failed") || limited != stated {
		t.Errorf("over the limit: %s (%s), in the group %q", greedy.Status, greedy.Error, dir)
	}
	for name, command := range map[string]string{
		"the tool": "kill -KILL $$", "a child": `python3 -c 'import os; os.kill(os.getpid(), 9)'`,
	} {
		if r := try(command); r.Status != "failed" || !strings.Contains(r.Error, "signal 9") ||
			strings.Contains(r.Error, "memory") {
			t.Errorf("%s is killed: %s (%s)", name, r.Status, r.Error)
		}
	}
	says(t, s, dir != "")
	lone := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 600"})
	harness.Eventually(t, time.Minute, "the run runs", func() bool { return strings.Contains(s.Log(lone.ID), "up") })
	s.Kill()
	s = s.Again()
	if r := s.Await(lone.ID); r.Status != "interrupted" {
		t.Errorf("the run of a server that was killed is %s", r.Status)
	}
}

// says checks that the server tells whether the memory of runs is limited.
func says(t *testing.T, s *harness.Server, limited bool) {
	t.Helper()
	var list struct {
		Workers []struct {
			Isolation struct{ Limits []string }
		}
	}
	s.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list)
	if len(list.Workers) != 1 || slices.Contains(list.Workers[0].Isolation.Limits, "memory") != limited {
		t.Errorf("the list of workers tells %+v", list.Workers)
	}
	var report struct {
		Findings []struct{ Check, Problem, Fix string }
	}
	s.Do(http.MethodGet, "/v1/doctor", nil).JSON(t, &report)
	found := false
	for _, f := range report.Findings {
		found = found || strings.Contains(f.Problem, "although --run-memory is set") &&
			strings.Contains(f.Fix, "Delegate=yes")
	}
	if found == limited {
		t.Errorf("the doctor tells %+v", report.Findings)
	}
	if strings.Contains(s.Output(), "run-memory has no effect") == limited {
		t.Errorf("the log tells %s", s.Output())
	}
}
