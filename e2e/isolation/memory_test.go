package isolation

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
)

// greedyScript uses more than the limit.
const greedyScript = "python3 -c 'b = bytearray(400 << 20)'; "

// TestMemory limits the memory of runs and of sources. Where control groups can be had, a run over its limit ends as a
// whole and says why, and so does a refresh. Everywhere else, and for another account, nothing limits it, and the
// server says so at its start, in the list of workers and in the doctor. A run that somebody killed is never stated as
// one that the kernel ended, and one whose server died is interrupted. Neither that server nor its successor leaves a
// group.
// Keeps F35.
func TestMemory(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, _ bool) {
		dir := ""
		if len(o.Wrap) == 0 {
			dir = cgrouptest.Dir(t)
		}
		if dir != "" {
			o.Wrap = inGroup(dir)
		}
		o.Flags = []string{"--run-memory", "128MiB"}
		limitsMemory(t, o, dir != "")
	})
}

// inGroup is the program that turns itself into another one in a control group.
func inGroup(dir string) []string {
	return []string{"sh", "-c", `echo $$ >` + dir + `/cgroup.procs && exec "$@"`, "sh"}
}

func limitsMemory(t *testing.T, o harness.Options, limited bool) {
	t.Helper()
	s := harness.Start(t, o)
	try := func(command string) harness.Run {
		return s.Await(s.Submit(harness.Body{"tool": "bash", "command": command}).ID)
	}
	greedy := try(greedyScript + "echo survived")
	stated := strings.Contains(greedy.Error, "memory limit reached: the run used more than 128 MiB")
	if limited != (greedy.Status == "failed") || limited != stated {
		t.Errorf("over the limit, limited %v: %s (%s)", limited, greedy.Status, greedy.Error)
	}
	if limited {
		if r := try(greedyScript + "sleep 600"); r.Status != "failed" || r.Error != greedy.Error {
			t.Errorf("what outlives a process over the limit: %s (%s)", r.Status, r.Error)
		}
	}
	w := newSourced(t, s)
	refreshed := w.script("greedy", "#!/bin/sh\n"+greedyScript+"echo '{}'\n")
	if limited == (refreshed.Status == http.StatusOK) || limited != strings.Contains(
		string(refreshed.Body), "memory limit reached: it used more than 128 MiB") {
		t.Errorf("a source over the limit: %d %s", refreshed.Status, refreshed.Body)
	}
	var sources struct {
		List []struct {
			LastError string `json:"last_error"`
		} `json:"inventory_sources"`
	}
	s.Do(http.MethodGet, "/v1/inventory-sources", nil).JSON(t, &sources)
	if len(sources.List) != 1 || limited != strings.Contains(sources.List[0].LastError, "memory limit reached") {
		t.Errorf("the source tells %+v", sources)
	}
	for name, command := range map[string]string{
		"the tool": "kill -KILL $$", "a child": `python3 -c 'import os; os.kill(os.getpid(), 9)'; exit $?`,
	} {
		if r := try(command); r.Status != "failed" || !strings.Contains(r.Error, "signal 9") ||
			strings.Contains(r.Error, "memory") {
			t.Errorf("%s is killed: %s (%s)", name, r.Status, r.Error)
		}
	}
	says(t, s, limited)
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
