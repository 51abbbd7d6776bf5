package runs_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// repairs are the findings that are left of what runs were made to repair.
type repairs struct{ left []string }

func (r *repairs) Repairs(context.Context, string) ([]string, error) { return r.left, nil }

// TestReconcile makes a held run of a dry run, bound to what it repairs.
func TestReconcile(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := runs.Submission{Name: "look", Labels: map[string]string{"a": "b"}, Change: "CHG-1",
			Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", Inventory: "a,b", DryRun: true, Shards: 2,
				Controls: runs.Controls{Tags: []string{"web"}}}}
		dry := b.submit(s)
		ann := account(t.Context(), "ann", identity.Operator)
		bound := ""
		q := runs.Reconciliation{Host: "a", SourceID: "tgt_1", Findings: []string{"drf_2", "drf_1"},
			Then: func(ctx context.Context, r *runs.Run) error {
				bound = r.ID
				_, err := b.store.ByID(ctx, r.ID) // it is in the unit that stores the run
				return err
			}}
		r, err := b.Reconciler.Reconcile(ann, dry.ID, q)
		if err != nil || bound != r.ID {
			t.Fatalf("bound %q to %+v, %v", bound, r, err)
		}
		b.repairs.left = []string{"drf_1", "drf_2"}
		got := b.status(r.ID, runs.PendingApproval)
		if got.Spec.DryRun || got.Kind != runs.Single || !slices.Equal(got.Spec.LimitHosts, []string{"a"}) ||
			got.Origin != (runs.Origin{Source: runs.FromReconcile, SourceID: "tgt_1", RerunOf: dry.ID}) ||
			got.Actor.ID != "ann" || got.Labels["a"] != "b" || !slices.Equal(got.Spec.Tags, []string{"web"}) ||
			len(got.Approvals.Parts.Changed(got.Approvals.Current)) > 0 {
			t.Errorf("%+v, %+v", got, got.Approvals)
		}
		if n := b.trail.count(r.ID, audit.RunReconcile); n != 1 {
			t.Errorf("%d entries", n)
		}
		old := got.Approvals.Current.Digest()
		b.repairs.left = []string{"drf_1"}
		a := b.get(r.ID).Approvals
		if changed := a.Parts.Changed(a.Current); !slices.Equal(changed, []string{"drift"}) {
			t.Errorf("changed %v", changed)
		}
		bob := account(t.Context(), "bob", identity.Admin)
		for _, digest := range []string{"", old} {
			if _, err := b.Approver.Approve(bob, r.ID, runs.DecisionInput{Digest: digest}); !runs.ApprovalStale.Is(err) {
				t.Errorf("approved %q: %v", digest, err)
			}
		}
		must[*runs.Run](t)(b.Approver.Approve(bob, r.ID, runs.DecisionInput{Digest: a.Current.Digest()}))
		b.status(r.ID, runs.Pending)

		stop := errors.New("stop")
		q.Then = func(context.Context, *runs.Run) error { return stop }
		before, err := b.Reader.List(t.Context(), runs.Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reconciler.Reconcile(ann, dry.ID, q); !errors.Is(err, stop) {
			t.Errorf("an error of the unit: %v", err)
		}
		after := must[*runs.List](t)(b.Reader.List(t.Context(), runs.Filter{Limit: 10}))
		if len(after.Runs) != len(before.Runs) {
			t.Errorf("%d runs became %d", len(before.Runs), len(after.Runs))
		}
		b.policies.say(policy.Verdict{Denied: &policy.Rule{ID: "pol_1", Name: "never"}})
		if _, err := b.Reconciler.Reconcile(ann, dry.ID, q); !policy.Denied.Is(err) {
			t.Errorf("a policy that denies it: %v", err)
		}
	})
}
