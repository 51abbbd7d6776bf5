package policy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// past stores a run of an account that was created some time before noon, and returns its id.
func (b *bundle) past(account string, before time.Duration, edit ...func(*runs.Run)) string {
	b.t.Helper()
	r := &runs.Run{
		ID: b.ids.New(ids.Run), Kind: runs.Single, Status: runs.Pending, CreatedAt: noon{}.Now().Add(-before),
		QueuedAt: noon{}.Now().Add(-before), Spec: runs.Spec{Tool: "bash", Command: "rm -r x", Queue: runs.DefaultQueue},
		Actor: actor.Actor{Type: actor.User, ID: account}, Risk: runs.Risk{Level: runs.LowRisk},
	}
	for _, fn := range edit {
		fn(r)
	}
	b.do(func(ctx context.Context) error { return b.runs.Insert(ctx, r) })
	return r.ID
}

// TestSimulate compares drafts with the runs of a time, without a licence, and stores nothing.
func TestSimulate(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		b.tier.tier.Store(system.Tier(""))
		user, day, crd := b.user(), 24*time.Hour, b.ids.New(ids.Credential)
		first := b.past(user, 2*day, func(r *runs.Run) {
			r.Spec.TemplateID, r.Risk.Level = "tpl_1", runs.HighRisk
			r.Spec.CredentialIDs, r.Labels = []string{crd}, map[string]string{"env": "prod"}
		})
		p := b.past("", day, func(r *runs.Run) {
			r.Kind, r.Spec, r.Actor = runs.Pipeline, runs.Spec{}, actor.Actor{Type: actor.System}
			step := runs.StepSpec{Name: "a", Tool: "bash", Command: "rm -r y"}
			r.Graph = &runs.Graph{Steps: []runs.StepState{{StepSpec: step}}}
		})
		b.past(user, day, func(r *runs.Run) {
			r.Kind, r.ParentID, r.StepName, r.Attempt = runs.Step, p, "a", 1
		})
		b.past(user, 31*day)
		last := b.past(user, time.Hour)
		var zero time.Time
		ago := func(d time.Duration) time.Time { return noon{}.Now().Add(-d) }
		for name, c := range map[string]struct {
			draft    policy.Policy
			from, to time.Time
			want     policy.Simulation
		}{
			"steps too": {policy.Policy{Match: policy.Match{CommandContains: "rm -r"}}, zero, zero, policy.Simulation{
				From: ago(30 * day), To: ago(0), Scanned: 3, Matched: 3, Held: 3, Sample: []string{last, p, first},
				ByActor: map[string]int{user: 2, "system": 1}, ByTemplate: map[string]int{"tpl_1": 1}}},
			"a denial": {policy.Policy{Effect: policy.Deny, RiskAtLeast: runs.HighRisk, Actors: []string{"user:" + user},
				Match: policy.Match{CredentialIDs: []string{crd}, Labels: map[string]string{"env": "*"}}}, zero, zero,
				policy.Simulation{From: ago(30 * day), To: ago(0), Scanned: 3, Matched: 1, Denied: 1, Sample: []string{first},
					ByActor: map[string]int{user: 1}, ByTemplate: map[string]int{"tpl_1": 1}}},
			"a time": {policy.Policy{}, ago(2 * day), ago(day), policy.Simulation{From: ago(2 * day), To: ago(day), Scanned: 1,
				Matched: 1, Held: 1, Sample: []string{first}, ByActor: map[string]int{user: 1},
				ByTemplate: map[string]int{"tpl_1": 1}}},
		} {
			c.draft.Record = object.Record{Name: name}
			if c.draft.Effect == "" {
				c.draft.Effect = policy.RequireApproval
			}
			got, err := b.Policies.Simulate(t.Context(), c.draft, c.from, c.to)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%s: %v %s", name, err, d)
			}
		}
		if list, n, err := b.Policies.List(t.Context(), policy.Filter{}, page.Window{}); n != 0 || err != nil {
			t.Errorf("stored %+v, %v", list, err)
		}
		if entries := b.trail.Take(); len(entries) != 0 {
			t.Errorf("recorded %+v", entries)
		}
	})
}

// TestSimulateRefuses names what is wrong, and takes drafts of administrators alone.
func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	now := noon{}.Now()
	if _, err := b.Policies.Simulate(asViewer(t.Context()), holds("a"), now, now); !policy.NotAllowed.Is(err) {
		t.Errorf("a viewer: %v", err)
	}
	bad, nobody := holds("a"), holds("a")
	bad.Match.Tools = []string{""}
	nobody.Actors = []string{"user:usr_" + "00000000000000000000000000"}
	for at, c := range map[string]struct {
		draft    policy.Policy
		from, to time.Time
	}{
		"policy.match.tools[0]": {bad, now, now}, "policy.actors": {nobody, now, now}, "from": {holds("a"), now, now},
	} {
		_, err := b.Policies.Simulate(t.Context(), c.draft, c.from, c.to)
		var f *fault.Error
		if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Location != at {
			t.Errorf("%s: %v", at, err)
		}
	}
}
