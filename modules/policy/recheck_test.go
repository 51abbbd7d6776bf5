package policy_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// TestWindowsThatChangeAfterAnAnswer voids the unit of a decision if a window commits after what the windows said, also
// one that another server saved. A change of a policy does not.
func TestWindowsThatChangeAfterAnAnswer(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		t, run := b.t, &runs.Run{}
		other := setup(t, b.d, policy.Source{})
		decide := func(meanwhile func()) error {
			asked, err := b.Evaluator.Timing(t.Context(), run, nil)
			if err != nil {
				t.Fatal(err)
			}
			meanwhile()
			return b.d.Do(t.Context(), func(ctx context.Context) error {
				if err := b.trail.Record(ctx, audit.Entry{Action: audit.RunApprove}); err != nil {
					return err
				}
				return b.Evaluator.Recheck(ctx, asked)
			})
		}
		if err := decide(func() {}); err != nil {
			t.Error(err)
		}
		if err := decide(func() { other.made(holds("a")) }); err != nil {
			t.Errorf("after a policy: %v", err)
		}
		err := decide(func() { other.window(daily("b", policy.DenyWindow, 11, time.Hour)) })
		if !policy.PoliciesChanged.Is(err) {
			t.Errorf("after a window: %v", err)
		}
		if got, err := b.Evaluator.Timing(t.Context(), run, nil); err != nil || got.Version != 1 {
			t.Errorf("%+v %v", got, err)
		}
		var v policy.Verdict
		err = b.d.Do(t.Context(), func(ctx context.Context) (err error) {
			v, err = b.Evaluator.Evaluate(ctx, run, nil)
			return err
		})
		if err != nil || v.Timing.Version != 1 {
			t.Errorf("a request after it: %+v %v", v.Timing, err)
		}
	})
}
