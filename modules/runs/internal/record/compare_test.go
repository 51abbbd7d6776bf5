package record

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	side := func(m map[string]runs.Outcome) (out Side) {
		for h, o := range m {
			out.Hosts = append(out.Hosts, runs.HostSummary{Host: h, Worst: o})
		}
		return out
	}
	before := side(map[string]runs.Outcome{"a": runs.HostOK, "b": runs.HostFailed, "c": runs.HostUnreachable,
		"d": runs.HostChanged, "e": runs.HostOK})
	after := side(map[string]runs.Outcome{"a": runs.HostUnreachable, "b": runs.HostRescued, "c": runs.HostIncomplete,
		"d": runs.HostIgnored, "f": runs.HostOK})
	want := []runs.HostChange{
		{Host: "a", Before: runs.HostOK, After: runs.HostUnreachable, Verdict: runs.Broke},
		{Host: "b", Before: runs.HostFailed, After: runs.HostRescued, Verdict: runs.Recovered},
		{Host: "c", Before: runs.HostUnreachable, After: runs.HostIncomplete, Verdict: runs.StillFailing},
		{Host: "d", Before: runs.HostChanged, After: runs.HostIgnored, Verdict: runs.Same},
		{Host: "e", Before: runs.HostOK, Verdict: runs.Gone},
		{Host: "f", After: runs.HostOK, Verdict: runs.Added},
	}
	got, outside := compareHosts(before, after)
	if diff := cmp.Diff(want, got); diff != "" || outside != 0 {
		t.Error(diff, outside)
	}
	// A limit is asked about the hosts that its run lacks, and about no other one.
	after.Excludes = func(host string) bool { return host == "e" || host == "a" || host == "f" }
	got, outside = compareHosts(before, after)
	if diff := cmp.Diff(slices.Delete(slices.Clone(want), 4, 5), got); diff != "" || outside != 1 {
		t.Error(diff, outside)
	}
	before.Excludes = func(host string) bool { return host == "f" }
	got, outside = compareHosts(before, after)
	if diff := cmp.Diff(want[:4], got); diff != "" || outside != 2 {
		t.Error(diff, outside)
	}
}

func TestTasksSumByName(t *testing.T) {
	t.Parallel()
	before := []runs.TaskSummary{{Task: "gone", Duration: 1}, {Task: "x", Duration: 2}}
	after := []runs.TaskSummary{{Task: "x", Duration: 3}, {Task: "new", Duration: 4}, {Task: "x", Duration: 5}}
	want := []runs.TaskChange{{Task: "x", Before: 2, After: 8}, {Task: "new", After: 4}, {Task: "gone", Before: 1}}
	if diff := cmp.Diff(want, compareTasks(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	a := &runs.Run{Spec: runs.Spec{Tool: "ansible", Playbook: "a.yml", Controls: runs.Controls{Forks: 5}},
		Vars: runs.Vars{"x": []byte(`1`)}}
	b := &runs.Run{Spec: runs.Spec{Tool: "ansible", Playbook: "b.yml", DryRun: true}, Vars: runs.Vars{"x": []byte(` 1 `)},
		Commit: "c"}
	got, err := changedFields(a, b)
	if diff := cmp.Diff([]string{"commit", "dry_run", "forks", "playbook"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := changedFields(a, a); got != nil || err != nil {
		t.Errorf("a run differs from itself in %v, %v", got, err)
	}
}

// TestCompareConfirmsNoGuess compares a run with one that a reader submitted with guessed secrets: a right guess
// gives the same result as a wrong one.
func TestCompareConfirmsNoGuess(t *testing.T) {
	t.Parallel()
	run := func(secret, ref string) *runs.Run {
		value := []byte(`"` + secret + `"`)
		return &runs.Run{
			Vars: runs.Vars{"db_password": value, "copy": value, "nested": []byte(`[{"token":"` + secret + `"}]`)},
			Spec: runs.Spec{Env: map[string]string{"A": secret}, Notifications: []runs.Notification{
				{Kind: "slack", URL: "https://hooks.example.org/" + secret, Key: secret, Ref: ref}}},
			Graph: &runs.Graph{Vars: runs.Vars{"api_key": value}, Steps: []runs.StepState{
				{StepSpec: runs.StepSpec{Name: "s", ExtraVars: runs.Vars{"secret": value, "plain": value}}}}},
		}
	}
	for _, guess := range []*runs.Run{run("right", "ntg_1"), run("wrong", "ntg_2")} {
		c, err := Compare(Side{Run: run("right", "ntg_1")}, Side{Run: guess}, time.Time{})
		if err != nil || c.ChangedFields != nil {
			t.Errorf("%s: changed %v, %v", guess.Spec.Env["A"], c.ChangedFields, err)
		}
	}
	other := run("right", "ntg_1")
	other.Vars["plain"], other.Spec.Env["B"] = []byte(`1`), "b"
	c, err := Compare(Side{Run: run("right", "ntg_1")}, Side{Run: other}, time.Time{})
	if diff := cmp.Diff([]string{"env", "extra_vars"}, c.ChangedFields); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := Compare(Side{Run: &runs.Run{}}, Side{Run: &runs.Run{StartedAt: at, EndedAt: at.Add(time.Minute)}},
		at.Add(time.Hour))
	if err != nil || c.Before != 0 || c.After != time.Minute {
		t.Errorf("before %v, after %v, %v", c.Before, c.After, err)
	}
}
