package runstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// refreshing lists held runs whose inventories are refreshed, until their approvals say that they are not any more.
func refreshing(t *testing.T, e *env) {
	held := func(a *runs.Approvals, s runs.Status) string {
		return e.add(t, func(r *runs.Run) { r.Status, r.QueuedAt, r.Approvals = s, time.Time{}, a }).ID
	}
	yes := func() *runs.Approvals { return &runs.Approvals{Refreshing: &runs.Refreshing{Since: epoch, Due: epoch}} }
	held(nil, runs.PendingApproval)
	held(&runs.Approvals{}, runs.PendingApproval)
	one, two, three := held(yes(), runs.PendingApproval), held(yes(), runs.PendingApproval),
		held(yes(), runs.PendingApproval)
	check := func(limit int, want ...string) {
		t.Helper()
		list, err := e.Queue.Refreshing(t.Context(), limit)
		if d := diff(want, ids(list)); d != "" || err != nil {
			t.Errorf("(%v):\n%s", err, d)
		}
	}
	check(10, one, two, three)
	check(2, one, two)
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, one, runs.Amendment{Approvals: &runs.Approvals{}, Risk: &runs.Risk{Level: runs.HighRisk}})
	})
	if r, err := e.Runs.ByID(t.Context(), one); err != nil || r.Risk.Level != runs.HighRisk {
		t.Errorf("%+v, %v", r, err)
	}
	e.must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, runs.Move{ID: two, From: runs.PendingApproval, To: runs.Canceled, At: epoch})
		return err
	})
	check(10, three)
	e.must(t, func(ctx context.Context) error { return e.Runs.Amend(ctx, one, runs.Amendment{Approvals: yes()}) })
	check(10, one, three)
}
