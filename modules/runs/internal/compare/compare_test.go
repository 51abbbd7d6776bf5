package compare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	side := func(m map[string]runs.Outcome) (out []runs.HostSummary) {
		for h, o := range m {
			out = append(out, runs.HostSummary{Host: h, Worst: o})
		}
		return out
	}
	before := side(map[string]runs.Outcome{"a": runs.HostOK, "b": runs.HostFailed, "c": runs.HostUnreachable, "d": runs.HostChanged, "e": runs.HostOK})
	after := side(map[string]runs.Outcome{"a": runs.HostUnreachable, "b": runs.HostRescued, "c": runs.HostIncomplete, "d": runs.HostIgnored, "f": runs.HostOK})
	want := []runs.HostChange{
		{Host: "a", Before: runs.HostOK, After: runs.HostUnreachable, Verdict: runs.Broke},
		{Host: "b", Before: runs.HostFailed, After: runs.HostRescued, Verdict: runs.Recovered},
		{Host: "c", Before: runs.HostUnreachable, After: runs.HostIncomplete, Verdict: runs.StillFailing},
		{Host: "d", Before: runs.HostChanged, After: runs.HostIgnored, Verdict: runs.Same},
		{Host: "e", Before: runs.HostOK, Verdict: runs.Gone},
		{Host: "f", After: runs.HostOK, Verdict: runs.Added},
	}
	if diff := cmp.Diff(want, Hosts(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestTasksSumByName(t *testing.T) {
	t.Parallel()
	before := []runs.TaskSummary{{Task: "gone", Duration: 1}, {Task: "x", Duration: 2}}
	after := []runs.TaskSummary{{Task: "x", Duration: 3}, {Task: "new", Duration: 4}, {Task: "x", Duration: 5}}
	want := []runs.TaskChange{{Task: "x", Before: 2, After: 8}, {Task: "new", After: 4}, {Task: "gone", Before: 1}}
	if diff := cmp.Diff(want, Tasks(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	a := &runs.Run{Spec: runs.Spec{Tool: "ansible", Playbook: "a.yml", Controls: runs.Controls{Forks: 5}}, Vars: runs.Vars{"x": []byte(`1`)}}
	b := &runs.Run{Spec: runs.Spec{Tool: "ansible", Playbook: "b.yml", DryRun: true}, Vars: runs.Vars{"x": []byte(` 1 `)}, Commit: "c"}
	if diff := cmp.Diff([]string{"commit", "dry_run", "forks", "playbook"}, Fields(a, b)); diff != "" {
		t.Error(diff)
	}
	if got := Fields(a, a); got != nil {
		t.Errorf("a run differs from itself in %v", got)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := Sides(Side{Run: &runs.Run{}}, Side{Run: &runs.Run{StartedAt: at, EndedAt: at.Add(time.Minute)}}, at.Add(time.Hour))
	if c.Before != 0 || c.After != time.Minute {
		t.Errorf("before %v, after %v", c.Before, c.After)
	}
}
