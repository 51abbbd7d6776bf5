package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

const ulid = "01k0a0000vtx5zk9w2m4n6p8rs"

func many(n int, text string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(text, i)
	}
	return out
}

func number(n int) *int { return &n }

// TestInvalidPolicies states a field for everything that a policy cannot have.
func TestInvalidPolicies(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	for name, tc := range map[string]struct {
		field  string
		change func(p *policy.Policy)
	}{
		"no name":          {"name", func(p *policy.Policy) { p.Name = " " }},
		"two lines":        {"name", func(p *policy.Policy) { p.Name = "a\nb" }},
		"no effect":        {"effect", func(p *policy.Policy) { p.Effect = "" }},
		"another effect":   {"effect", func(p *policy.Policy) { p.Effect = "allow" }},
		"below zero":       {"approvals_needed", func(p *policy.Policy) { p.ApprovalsNeeded = -1 }},
		"too many needed":  {"approvals_needed", func(p *policy.Policy) { p.ApprovalsNeeded = 11 }},
		"deny with number": {"approvals_needed", func(p *policy.Policy) { p.Effect, p.ApprovalsNeeded = policy.Deny, 1 }},
		"deny with teams": {"approver_teams", func(p *policy.Policy) {
			p.Effect, p.ApproverTeams = policy.Deny, []string{"team_" + ulid}
		}},
		"deny by another": {"distinct_approver", func(p *policy.Policy) {
			p.Effect, p.DistinctApprover = policy.Deny, true
		}},
		"no team": {"approver_teams[0]", func(p *policy.Policy) { p.ApproverTeams = []string{"usr_" + ulid} }},
		"a team twice": {"approver_teams[1]", func(p *policy.Policy) {
			p.ApproverTeams = []string{"team_" + ulid, "team_" + ulid}
		}},
		"a long message":  {"message", func(p *policy.Policy) { p.Message = strings.Repeat("漢", 501) }},
		"a bell":          {"message", func(p *policy.Policy) { p.Message = "a\ab" }},
		"no text":         {"message", func(p *policy.Policy) { p.Message = "\xff" }},
		"risk":            {"risk_at_least", func(p *policy.Policy) { p.RiskAtLeast = "extreme" }},
		"actor":           {"actors[0]", func(p *policy.Policy) { p.Actors = []string{"usr_" + ulid} }},
		"actor of a kind": {"actors[0]", func(p *policy.Policy) { p.Actors = []string{"team:usr_" + ulid} }},
		"many actors":     {"actors", func(p *policy.Policy) { p.Actors = many(101, "user:") }},
		"an empty tool":   {"match.tools[0]", func(p *policy.Policy) { p.Match.Tools = []string{""} }},
		"a long tool": {"match.tools[1]", func(p *policy.Policy) {
			p.Match.Tools = []string{"a", strings.Repeat("a", 101)}
		}},
		"many tools": {"match.tools", func(p *policy.Policy) { p.Match.Tools = many(101, "t") }},
		"a long command": {"match.command_contains", func(p *policy.Policy) {
			p.Match.CommandContains = strings.Repeat("a", 1001)
		}},
		"a pattern":      {"match.playbook", func(p *policy.Policy) { p.Match.Playbook = "[a" }},
		"a long pattern": {"match.playbook", func(p *policy.Policy) { p.Match.Playbook = strings.Repeat("a", 1001) }},
		"an inventory": {"match.inventory_ids[0]", func(p *policy.Policy) {
			p.Match.InventoryIDs = []string{"prj_" + ulid}
		}},
		"a template":       {"match.template_ids[0]", func(p *policy.Policy) { p.Match.TemplateIDs = []string{"deploy"} }},
		"a project":        {"match.project_ids[0]", func(p *policy.Policy) { p.Match.ProjectIDs = []string{""} }},
		"a credential":     {"match.credential_ids[0]", func(p *policy.Policy) { p.Match.CredentialIDs = []string{"crd_"} }},
		"a queue":          {"match.queues[0]", func(p *policy.Policy) { p.Match.Queues = []string{"a b"} }},
		"a source":         {"match.sources[0]", func(p *policy.Policy) { p.Match.Sources = []runs.Source{"mail"} }},
		"a key of a label": {"match.labels", func(p *policy.Policy) { p.Match.Labels = map[string]string{"A": "x"} }},
		"a long label": {"match.labels.a", func(p *policy.Policy) {
			p.Match.Labels = map[string]string{"a": strings.Repeat("a", 256)}
		}},
		"hosts": {"match.hosts_over", func(p *policy.Policy) { p.Match.HostsOver = number(-1) }},
		"a share below": {"match.inventory_share_over", func(p *policy.Policy) {
			p.Match.InventoryShareOver = number(-1)
		}},
		"a share above": {"match.inventory_share_over", func(p *policy.Policy) {
			p.Match.InventoryShareOver = number(101)
		}},
	} {
		p := holds("a")
		tc.change(&p)
		_, err := b.Policies.Create(t.Context(), p)
		b.wantFault(name, err, fault.Code{Kind: fault.Invalid}, tc.field)
		_, err = b.Policies.Update(t.Context(), "pol_"+ulid, 0, p)
		b.wantFault(name+" in an update", err, fault.Code{Kind: fault.Invalid}, tc.field)
	}
	for field, p := range map[string]policy.Policy{
		"actors":         {Actors: []string{"user:usr_" + ulid}},
		"approver_teams": {ApproverTeams: []string{"team_" + ulid}},
	} {
		p.Name, p.Effect = "a", policy.RequireApproval
		_, err := b.Policies.Create(t.Context(), p)
		code := map[string]fault.Code{"actors": identity.UserNotFound, "approver_teams": identity.TeamNotFound}[field]
		b.wantFault("nobody in "+field, err, code, field)
	}
	if list := b.trail.Take(); len(list) > 0 {
		t.Errorf("recorded: %+v", list)
	}
}

// TestPolicies creates, changes and deletes a policy with everything that it can have. Each change is recorded with it.
func TestPolicies(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		t, ctx := b.t, b.t.Context()
		p := policy.Policy{
			Record: object.Record{Name: " prod ", Org: "org_1"}, Effect: policy.RequireApproval, Enabled: true,
			Match: policy.Match{Tools: []string{"ansible"}, CommandContains: "rm -rf\n", Playbook: "prod/*.yml",
				InventoryIDs: []string{"inv_" + ulid}, TemplateIDs: []string{"tpl_" + ulid}, ProjectIDs: []string{"prj_" + ulid},
				Queues: []string{"a", "b/c"}, Sources: []runs.Source{runs.FromAPI, runs.FromProposal},
				CredentialIDs: []string{"crd_" + ulid}, Labels: map[string]string{"env": "*"}, HostsOver: number(0),
				InventoryShareOver: number(100), LimitMissing: true, ChangeMissing: true},
			ExcludeDryRun: true, RiskAtLeast: runs.HighRisk, DistinctApprover: true, Message: "ask\nus", ApprovalsNeeded: 2,
			Actors: []string{"user:" + b.user(), "team:" + b.team()}, ApproverTeams: []string{b.team()},
		}
		made := b.made(p)
		want := p
		want.Record = made.Record
		if d := cmp.Diff(want, made); d != "" || made.Name != "prod" || made.Org != "" || made.Revision != 1 {
			t.Errorf("%+v %s", made.Record, d)
		}
		for _, ctx := range []context.Context{ctx, asViewer(ctx)} {
			want := made
			if ctx.Value(viewerKey{}) != nil {
				want.Match.InventoryIDs = []string{} // of an object that the caller may not read
			}
			got, err := b.Policies.Get(ctx, made.ID)
			list, _, fails := b.Policies.List(ctx, policy.Filter{}, page.Window{})
			if d := cmp.Diff([]policy.Policy{want, want}, append(list, got)); d != "" || err != nil || fails != nil {
				t.Error(err, fails, d)
			}
		}
		if one := b.made(holds("other")); one.ApprovalsNeeded != 1 {
			t.Errorf("needs %d approvals", one.ApprovalsNeeded)
		}
		_, err := b.Policies.Create(ctx, holds("prod"))
		b.wantFault("the same name", err, policy.NameTaken, "name")

		next := holds("prod")
		next.Effect, next.Enabled = policy.Deny, false
		_, err = b.Policies.Update(ctx, made.ID, 7, next)
		b.wantFault("another revision", err, policy.RevisionChanged, "")
		_, err = b.Policies.Update(ctx, "pol_"+ulid, 0, next)
		b.wantFault("nothing", err, policy.PolicyNotFound, "")
		changed, err := b.Policies.Update(ctx, made.ID, 1, next)
		if err != nil || changed.Revision != 2 || changed.Effect != policy.Deny || !changed.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("%+v %v", changed, err)
		}
		if d := cmp.Diff([]string{"other"}, b.names()); d != "" {
			t.Error(d)
		}
		list, n, err := b.Policies.List(asViewer(ctx), policy.Filter{Name: "prod"}, page.Window{})
		if err != nil || n != 1 || len(list) != 1 || list[0].ID != made.ID {
			t.Errorf("%+v %d %v", list, n, err)
		}
		b.wantFault("an old revision", b.Policies.Delete(ctx, made.ID, 1), policy.RevisionChanged, "")
		if err := b.Policies.Delete(ctx, made.ID, 2); err != nil {
			t.Error(err)
		}
		b.wantFault("again", b.Policies.Delete(ctx, made.ID, 0), policy.PolicyNotFound, "")

		var entries []string
		digests := map[any]bool{}
		for _, e := range b.trail.Take() {
			entries = append(entries, fmt.Sprint(e.Action, " ", e.Object.Kind, " ", e.Object.Name, " ", e.Detail["effect"], " ",
				e.Detail["enabled"], " ", e.Detail["revision"]))
			digests[e.Detail["digest"]] = true
		}
		if d := cmp.Diff([]string{"policy.create policy prod require_approval true 1",
			"policy.create policy other require_approval true 1", "policy.update policy prod deny false 2",
			"policy.delete policy prod <nil> <nil> 2"}, entries); d != "" || len(digests) != 4 {
			t.Error(d, digests)
		}
	})
}

// TestWritersOfPolicies refuses whoever is no administrator, and a change that cannot be recorded.
func TestWritersOfPolicies(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	made, ctx := b.made(holds("a")), asViewer(t.Context())
	_, err := b.Policies.Create(ctx, policy.Policy{})
	b.wantFault("create", err, policy.NotAllowed, "")
	_, err = b.Policies.Update(ctx, made.ID, 0, holds("b"))
	b.wantFault("update", err, policy.NotAllowed, "")
	b.wantFault("delete", b.Policies.Delete(ctx, made.ID, 0), policy.NotAllowed, "")
	broken := errors.New("broken")
	for _, fail := range [][2]error{{broken, nil}, {nil, broken}} {
		b.trail.Fail(fail[0], fail[1])
		if _, err := b.Policies.Create(t.Context(), holds("b")); !errors.Is(err, broken) {
			t.Error(err)
		}
		if err := b.Policies.Delete(t.Context(), made.ID, 0); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]string{"a"}, b.names()); d != "" {
		t.Error(d)
	}
}

// TestTiersOfPolicies states what each tier may write. What exists stays in force without a licence, and may be
// disabled and deleted.
func TestTiersOfPolicies(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	ctx := t.Context()
	refused := func(what string, err error, feature string, tier system.Tier) {
		t.Helper()
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Unlicensed || f.Detail["feature"] != feature ||
			f.Detail["tier"] != string(tier) {
			t.Errorf("%s: %v", what, err)
		}
	}
	user := "user:" + b.user()
	features := map[string]func(p *policy.Policy){
		policy.FeatureDeny:     func(p *policy.Policy) { p.Effect = policy.Deny },
		policy.FeatureRisk:     func(p *policy.Policy) { p.RiskAtLeast = runs.LowRisk },
		policy.FeatureActors:   func(p *policy.Policy) { p.Actors = []string{user} },
		policy.FeatureDistinct: func(p *policy.Policy) { p.DistinctApprover = true },
	}
	var made []policy.Policy
	for tier, most := range map[system.Tier]int{system.Free: 1, system.Pro: 5} {
		b.tier.tier.Store(tier)
		for feature, change := range features {
			p := holds(feature)
			change(&p)
			p.Enabled = false
			_, err := b.Policies.Create(ctx, p)
			refused(string(tier), err, feature, system.Team)
		}
		for len(made) < most {
			p := holds(fmt.Sprint(len(made)))
			p.ApproverTeams, p.ApprovalsNeeded = []string{b.team()}, 2
			made = append(made, b.made(p))
		}
	}
	b.tier.tier.Store(system.Pro)
	_, err := b.Policies.Create(ctx, holds("sixth"))
	refused("the sixth", err, policy.FeatureUnlimited, system.Team)
	off := holds("off")
	off.Enabled = false
	spare := b.made(off)
	off.Enabled = true
	_, err = b.Policies.Update(ctx, spare.ID, 0, off)
	refused("the sixth, by an update", err, policy.FeatureUnlimited, system.Team)

	b.tier.tier.Store(system.Team)
	for feature, change := range features {
		p := holds(feature)
		change(&p)
		made = append(made, b.made(p))
	}
	b.tier.tier.Store(system.Free)
	if n := len(b.names()); n != len(made) {
		t.Errorf("%d of %d policies are in force", n, len(made))
	}
	_, err = b.Policies.Update(ctx, made[0].ID, 0, made[0])
	refused("one of nine", err, policy.FeatureUnlimited, system.Team)
	for i, p := range made {
		p.Enabled = false
		if _, err := b.Policies.Update(ctx, p.ID, 0, p); err != nil {
			t.Errorf("disable: %v", err)
		}
		if i > 0 {
			if err := b.Policies.Delete(ctx, p.ID, 0); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
	}
	if _, err := b.Policies.Update(ctx, made[0].ID, 0, made[0]); err != nil {
		t.Errorf("enable the only one: %v", err)
	}
	_, err = b.Policies.Create(ctx, holds("second"))
	refused("the second", err, policy.FeatureFive, system.Pro)
}

// TestOnePolicyWithoutALicence has many callers create the one policy that is free.
func TestOnePolicyWithoutALicence(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		b.tier.tier.Store(system.Free)
		txtest.Together(8, func(i int) {
			if _, err := b.Policies.Create(b.t.Context(), holds(fmt.Sprint(i))); err != nil &&
				!fault.Is(err, fault.Unlicensed) {
				b.t.Error(err)
			}
		})
		if n := len(b.names()); n != 1 {
			b.t.Errorf("%d policies", n)
		}
	})
}

// TestMissingSubjects reports an enabled policy whose team is gone. The policy may still be changed.
func TestMissingSubjects(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	p := holds("a")
	team, user := b.team(), b.user()
	p.ApproverTeams, p.Actors = []string{team}, []string{"user:" + user, "team:" + b.team()}
	p = b.made(p)
	b.do(func(ctx context.Context) error {
		return errors.Join(b.rights.DeleteTeam(ctx, team), b.rights.DeleteAccount(ctx, user))
	})
	x, err := b.Check.Examine(t.Context())
	if err != nil || x.Examined != 1 || len(x.Findings) != 2 || x.Findings[0].Object.ID != p.ID ||
		x.Findings[0].Severity != system.Warning || !strings.Contains(x.Findings[0].Problem, user) ||
		!strings.Contains(x.Findings[1].Problem, team) {
		t.Errorf("%+v %v", x, err)
	}
	p.Message = "changed"
	if _, err := b.Policies.Update(t.Context(), p.ID, 0, p); err != nil {
		t.Error(err)
	}
}
