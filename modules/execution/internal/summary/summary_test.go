package summary

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func result(typ runs.EventType, host, task string, atMS, tookMS int) runs.Event {
	return runs.Event{Type: typ, Host: host, Play: "site", Task: task, TaskID: "id-" + task, At: at(atMS),
		DurationMS: int64(tookMS)}
}

func begin(task string, atMS int) runs.Event {
	return runs.Event{Type: runs.EventTaskStarted, Play: "site", Task: task, TaskID: "id-" + task, At: at(atMS)}
}

// playbook is two tasks over three hosts: one is fine, one fails, one is never reached.
func playbook() []runs.Event {
	changed := result(runs.EventHostOK, "a", "copy", 300, 100)
	changed.Changed = true
	ignored := result(runs.EventHostFailed, "a", "check", 900, 50)
	ignored.Ignored, ignored.Changed = true, true
	failed := result(runs.EventHostFailed, "b", "copy", 400, 200)
	failed.Changed = true
	return []runs.Event{
		{Type: runs.EventPlayStarted, Play: "site", At: at(0)},
		begin("copy", 100), changed, failed, result(runs.EventHostUnreachable, "c", "copy", 450, 250),
		begin("check", 800), ignored,
	}
}

func fold(events []runs.Event) *Summary {
	s := New()
	for i := range events {
		s.Add(&events[i])
	}
	return s
}

func TestCountsFromEventsWhereTheRecapIsMissing(t *testing.T) {
	t.Parallel()
	s := fold(playbook())
	want := []runs.HostSummary{
		{Host: "a", OK: 2, Changed: 2, Ignored: 1, Worst: runs.HostIncomplete, Duration: 150 * time.Millisecond},
		{Host: "b", Failed: 1, Worst: runs.HostFailed, Duration: 200 * time.Millisecond},
		{Host: "c", Unreachable: 1, Worst: runs.HostUnreachable, Duration: 250 * time.Millisecond},
	}
	hosts := s.Hosts(true)
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(runs.HostCounts{runs.HostIncomplete: 1, runs.HostFailed: 1, runs.HostUnreachable: 1},
		Counts(hosts)); diff != "" {
		t.Fatal(diff)
	}
	if s.Touched() != 3 || s.Empty() {
		t.Fatalf("touched %d", s.Touched())
	}
}

// TestTheRecapRules also has an ignored failure beside results that are ok, before and after it, and hosts with nothing
// but ignored failures.
func TestTheRecapRules(t *testing.T) {
	t.Parallel()
	recap := runs.Event{Type: runs.EventStats,
		Stats: []byte(
			`{"a":{"ok":2,"changed":2,"ignored":1},"b":{"ok":1,"rescued":1},"c":{"unreachable":1},"d":{"skipped":2},` +
				`"e":{"ok":3,"ignored":3},"f":{"ok":1,"ignored":1}}`)}
	failed := result(runs.EventHostFailed, "e", "check", 1100, 10)
	failed.Ignored = true
	events := append(playbook(), failed, result(runs.EventHostOK, "f", "check", 1100, 10))
	s := fold(append(events, recap))
	got := map[string]runs.Outcome{}
	for _, h := range s.Hosts(true) {
		got[h.Host] = h.Worst
	}
	want := map[string]runs.Outcome{"a": runs.HostChanged, "b": runs.HostRescued, "c": runs.HostUnreachable,
		"d": runs.HostSkipped, "e": runs.HostIgnored, "f": runs.HostOK}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestARecapAfterAKillDoesNotCount(t *testing.T) {
	t.Parallel()
	recap := runs.Event{Type: runs.EventStats, Stats: []byte(`{"a":{"unreachable":1}}`)}
	hosts := fold(append(playbook(), recap)).Hosts(false)
	if hosts[0].Worst != runs.HostIncomplete || hosts[0].Unreachable != 0 {
		t.Fatalf("the recap of a killed run was believed: %+v", hosts[0])
	}
}

func TestAHostOfAnEarlierPlayIsDone(t *testing.T) {
	t.Parallel()
	events := append(playbook(), runs.Event{Type: runs.EventPlayStarted, Play: "second"})
	if w := fold(events).Hosts(false)[0].Worst; w != runs.HostChanged {
		t.Fatalf("the host is %s", w)
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	events := playbook()
	// A second batch of the same play repeats the task later.
	events = append(events, runs.Event{Type: runs.EventPlayStarted, Play: "site"},
		begin("copy", 2000), result(runs.EventHostOK, "d", "copy", 2050, 50))
	want := []runs.TaskSummary{
		{Index: 0, TaskID: "id-copy", Play: "site", Task: "copy", OK: 2, Changed: 1, Failed: 2, Hosts: 4,
			Duration: 400 * time.Millisecond, Mean: 150 * time.Millisecond, Max: 250 * time.Millisecond},
		{Index: 1, TaskID: "id-check", Play: "site", Task: "check", OK: 1, Changed: 1, Hosts: 1,
			Duration: 100 * time.Millisecond, Mean: 50 * time.Millisecond, Max: 50 * time.Millisecond},
	}
	if diff := cmp.Diff(want, fold(events).Tasks()); diff != "" {
		t.Fatal(diff)
	}
}

func TestResultsWithoutStarts(t *testing.T) {
	t.Parallel()
	got := fold([]runs.Event{result(runs.EventHostOK, "a", "x", 500, 100)}).Tasks()
	if len(got) != 1 || got[0].Duration != 100*time.Millisecond {
		t.Fatalf("got %+v", got)
	}
	if s := New(); !s.Empty() || s.Touched() != 0 || len(s.Hosts(true)) != 0 || Counts(nil) != nil {
		t.Fatal("an empty run has results")
	}
}
