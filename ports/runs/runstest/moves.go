package runstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

func moveCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"the whole state table":          stateTable,
		"another state":                  otherState,
		"a move carries its results":     moveResults,
		"zero members leave the record":  moveZero,
		"a stale lease":                  moveStaleLease,
		"back to the queue":              moveBack,
		"a status event for each move":   moveEvents,
		"warnings add up":                moveWarnings,
		"the ended run keeps its holder": moveRetainsWorker,
	}
}

// stateTable tries every pair of states: the table's moves happen, all others change nothing.
func stateTable(t *testing.T, e *env) {
	for _, from := range runs.Statuses() {
		for _, to := range append(runs.Statuses(), runs.Skipped, "nonsense") {
			r := e.add(t, func(r *runs.Run) { r.Status = from })
			got, err := e.move(t, runs.Move{ID: r.ID, From: from, To: to, At: at(time.Hour)})
			if !runs.CanMove(from, to) {
				wantFault(t, err, runs.RunStateChanged)
				if d := diff(r, e.get(t, r.ID)); d != "" {
					t.Errorf("%s to %s changed the run:\n%s", from, to, d)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			if got.Status != to || got.Revision != r.Revision+1 || got.EventCount != r.EventCount+1 {
				t.Errorf("%s to %s made %+v", from, to, got)
			}
			if ended := got.EndedAt.Equal(at(time.Hour)); ended != to.Terminal() {
				t.Errorf("%s to %s ended at %s", from, to, got.EndedAt)
			}
			if d := diff(got, e.get(t, r.ID)); d != "" {
				t.Errorf("%s to %s returned another record than it stored:\n%s", from, to, d)
			}
		}
	}
}

func otherState(t *testing.T, e *env) {
	r := e.add(t)
	for _, from := range []runs.Status{runs.Running, runs.PendingApproval} {
		_, err := e.move(t, runs.Move{ID: r.ID, From: from, To: runs.Canceled, At: epoch})
		wantFault(t, err, runs.RunStateChanged)
	}
}

func moveResults(t *testing.T, e *env) {
	a := e.running(t, func(r *runs.Run) { r.Vars = runs.Vars{"v": raw("1")} })
	m := runs.Move{
		ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: at(2 * time.Hour), Lease: &a.Lease, ExitCode: ptr(0),
		Error:    "it\x00 broke",
		Warnings: []runs.Warning{{Code: "c", Message: "m"}}, Outputs: runs.Vars{"o": raw("12.50")}, Commit: "abc",
		ToolVersion: "2.14.18",
		Counts:      runs.HostCounts{runs.HostFailed: 3}, Touched: 4, LogBytes: 100, Omitted: 7, LogSHA256: "ff",
		Decision: &runs.Decision{By: actor.Actor{Type: actor.User, Name: "eve"}, At: at(time.Second),
			Verdict: runs.Approved},
		Approvals: &runs.Approvals{Holds: []runs.Hold{{Name: "h", Needed: 1}},
			Given: []runs.Approval{{By: actor.Actor{Type: actor.User, Name: "eve"}, At: at(time.Second), Holds: []int{0}}}},
		StartedAt: at(time.Hour), Isolation: runs.Isolation{Level: "users", Profile: "standard"},
		AcceptedHostKeys: []runs.HostKey{{Host: "[h1]:2222", Type: "ssh-ed25519", Fingerprint: "SHA256:a+/"}},
	}
	got, err := e.move(t, m)
	if err != nil {
		t.Fatal(err)
	}
	want := *a.Run
	want.Status, want.EndedAt, want.ExitCode, want.Error = m.To, m.At, m.ExitCode, "it broke"
	want.Warnings, want.Outputs, want.Commit, want.Hosts, want.HostsTouched = m.Warnings, m.Outputs, m.Commit, m.Counts,
		m.Touched
	want.ToolVersion, want.AcceptedHostKeys = m.ToolVersion, m.AcceptedHostKeys
	want.LogBytes, want.LogOmitted, want.LogSHA256, want.Decision, want.StartedAt = m.LogBytes, m.Omitted, m.LogSHA256,
		m.Decision, m.StartedAt
	want.Isolation, want.Approvals = m.Isolation, m.Approvals
	want.LeaseExpiresAt, want.Revision, want.EventCount = time.Time{}, a.Run.Revision+1, a.Run.EventCount+1
	if d := diff(&want, e.get(t, a.Run.ID)); d != "" {
		t.Errorf("the stored record:\n%s", d)
	}
	want.Vars = nil
	if d := diff(&want, got); d != "" {
		t.Errorf("the returned record:\n%s", d)
	}
}

func moveZero(t *testing.T, e *env) {
	r := e.add(t, fullRun)
	if _, err := e.move(t, runs.Move{ID: r.ID, From: runs.Running, To: runs.Interrupted, At: at(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	want := *r
	want.Status, want.EndedAt, want.LeaseExpiresAt = runs.Interrupted, at(time.Hour), time.Time{}
	want.Revision, want.EventCount = r.Revision+1, r.EventCount+1
	if d := diff(&want, e.get(t, r.ID)); d != "" {
		t.Errorf("the stored record:\n%s", d)
	}
}

func moveStaleLease(t *testing.T, e *env) {
	a := e.running(t)
	for _, l := range []runs.Lease{
		{RunID: a.Run.ID, Worker: "other", Epoch: a.Lease.Epoch},
		{RunID: a.Run.ID, Worker: a.Lease.Worker, Epoch: a.Lease.Epoch - 1},
		{RunID: a.Run.ID, Worker: a.Lease.Worker, Epoch: a.Lease.Epoch + 1},
	} {
		_, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Succeeded, At: epoch, Lease: &l})
		wantFault(t, err, runs.LeaseLost)
	}
	e.finish(t, a, runs.Succeeded, at(time.Hour))
	_, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch, Lease: &a.Lease})
	wantFault(t, err, runs.LeaseLost)
	_, err = e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch})
	wantFault(t, err, runs.RunStateChanged)
	_, err = e.move(t, runs.Move{ID: "run_none", From: runs.Running, To: runs.Failed, At: epoch, Lease: &a.Lease})
	wantFault(t, err, runs.RunNotFound)
}

func moveBack(t *testing.T, e *env) {
	a := e.running(t)
	got, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Pending, At: at(time.Hour), Lease: &a.Lease,
		DropLease: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Worker != "" || !got.LeaseExpiresAt.IsZero() || got.Begun || !got.QueuedAt.Equal(at(time.Hour)) {
		t.Errorf("the released run is %+v", got)
	}
	again := e.claim(t, "w2", ttl)
	if again.Run.ID != a.Run.ID || again.Lease.Epoch <= a.Lease.Epoch {
		t.Errorf("claimed %+v after %+v", again.Lease, a.Lease)
	}
}

func moveEvents(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	if _, err := e.move(t, runs.Move{ID: r.ID, From: runs.PendingApproval, To: runs.Pending,
		At: at(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	a := e.claim(t, "w", ttl)
	e.finish(t, a, runs.Succeeded, at(2*time.Hour))
	got, err := e.Events.Events(t.Context(), r.ID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []runs.Event{
		{Seq: 1, At: at(time.Minute), Type: runs.EventStatus, From: runs.PendingApproval, To: runs.Pending},
		{Seq: 2, At: at(time.Hour), Type: runs.EventStatus, From: runs.Pending, To: runs.Running},
		{Seq: 3, At: at(2 * time.Hour), Type: runs.EventStatus, From: runs.Running, To: runs.Succeeded},
	}
	if d := diff(want, got); d != "" {
		t.Errorf("events:\n%s", d)
	}
}

func moveWarnings(t *testing.T, e *env) {
	a := e.running(t, func(r *runs.Run) { r.Warnings = []runs.Warning{{Code: "1"}} })
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, a.Run.ID, runs.Amendment{Warnings: []runs.Warning{{Code: "2"}}})
	})
	got, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch,
		Warnings: []runs.Warning{{Code: "3"}, {Code: "4"}}})
	if err != nil {
		t.Fatal(err)
	}
	if d := diff([]runs.Warning{{Code: "1"}, {Code: "2"}, {Code: "3"}, {Code: "4"}}, got.Warnings); d != "" {
		t.Errorf("warnings:\n%s", d)
	}
}

func moveRetainsWorker(t *testing.T, e *env) {
	a := e.running(t)
	got := e.finish(t, a, runs.Succeeded, at(time.Hour))
	if got.Worker != a.Lease.Worker || got.Epoch != a.Lease.Epoch || !got.LeaseExpiresAt.IsZero() {
		t.Errorf("the ended run is %+v", got)
	}
	held, err := e.Queue.Leased(t.Context(), a.Lease.Worker)
	if err != nil || len(held) != 0 {
		t.Errorf("held after the end: %v, %v", held, err)
	}
}
