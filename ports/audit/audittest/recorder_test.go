package audittest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/tx"
)

// do is a unit of work around the recording of entries.
func do(ctx context.Context, r *audittest.Recorder, entries ...audit.Entry) error {
	ctx, hooks := tx.WithHooks(ctx)
	for _, e := range entries {
		if err := r.Record(ctx, e); err != nil {
			return err
		}
	}
	if err := hooks.Finish(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	ann := actor.Actor{Type: actor.User, ID: "usr_1"}
	ctx := actor.With(t.Context(), ann)
	r := &audittest.Recorder{FillBy: true}
	e := audit.Entry{Action: audit.UserUpdate, Detail: map[string]any{"a": []any{1, "x"}}}
	if err := do(ctx, r, e, e); err != nil || len(r.Entries()) != 2 || *r.Entries()[0].By != ann {
		t.Errorf("two entries: %v %+v", err, r.Entries())
	}
	if n := len(r.Take()); n != 2 || len(r.Take()) != 0 {
		t.Errorf("%d entries are taken", n)
	}
	if err := r.Record(ctx, e); err == nil {
		t.Error("an entry outside of a unit")
	}
	for name, bad := range map[string]audit.Entry{
		"an action": {Action: "user.rename"},
		"a detail":  {Action: audit.UserUpdate, Detail: map[string]any{"a": []any{-1}}},
	} {
		if err := do(ctx, r, bad); err == nil {
			t.Errorf("%s that no chain can hold", name)
		}
	}
	record, end := errors.New("record"), errors.New("end")
	r.Fail(record, end)
	if err := do(ctx, r, e); !errors.Is(err, record) {
		t.Errorf("recording fails with %v", err)
	}
	r.Fail(nil, end)
	if err := do(ctx, r, e); !errors.Is(err, end) || len(r.Entries()) != 0 {
		t.Errorf("the unit ends with %v and %d entries", err, len(r.Entries()))
	}
	r.Fail(nil, nil)
	if err := do(ctx, r, e); err != nil || len(r.Entries()) != 1 {
		t.Errorf("after the failures: %v and %d entries", err, len(r.Entries()))
	}
}
