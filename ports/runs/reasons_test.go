package runs_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestReasonsOfARefusal completes reasons from the refusal, keeps its other details, and finds them again. A missing
// licence is a reason of its own.
func TestReasonsOfARefusal(t *testing.T) {
	t.Parallel()
	plain := runs.RunNotHeld.New("no").With("changed", 1)
	f := runs.WithReasons(plain, runs.Reason{Object: "run_1"}, runs.Reason{Code: "a", Text: "b", Next: "c"})
	want := []runs.Reason{{Code: "run_not_held", Text: "no", Object: "run_1"}, {Code: "a", Text: "b", Next: "c"}}
	if diff := cmp.Diff(want, runs.ReasonsOf(fmt.Errorf("around: %w", f))); diff != "" || f.Detail["changed"] != 1 {
		t.Errorf("%v %s", f.Detail, diff)
	}
	if runs.ReasonsOf(plain) != nil || runs.ReasonsOf(errors.New("other")) != nil {
		t.Error("reasons out of nowhere")
	}
	got := runs.ReasonsOf(&fault.Error{Kind: fault.Unlicensed, Message: "the tier is too low"})
	if len(got) != 1 || got[0].Code != "license_required" || got[0].Text != "the tier is too low" || got[0].Next == "" {
		t.Errorf("a missing licence: %+v", got)
	}
}

// TestReasonOfAState says since when a run is in its state, and what has to happen next.
func TestReasonOfAState(t *testing.T) {
	t.Parallel()
	times := runs.Run{ID: "run_1", CreatedAt: time.Unix(1, 0), QueuedAt: time.Unix(2, 0), StartedAt: time.Unix(3, 0),
		EndedAt: time.Unix(4, 0)}
	for _, s := range runs.Statuses() {
		r := times
		r.Status = s
		since := map[runs.Status]int64{runs.PendingApproval: 1, runs.Pending: 2, runs.Running: 3}[s]
		if s.Terminal() {
			since = 4
		}
		got := runs.StateReason(&r)
		if got.Code != "run_state_changed" || got.Object != "run_1" || got.Text != "the run is "+string(s) ||
			got.Since.Unix() != since || got.Next == "" {
			t.Errorf("%s: %+v", s, got)
		}
	}
}
