package evaluate_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

var (
	tools     = []string{"ansible", "bash", "python", "powershell", "go", "terraform"}
	playbooks = []string{"", "site.yml", "prod/site.yml", "prod/a/b.yml", "./prod//db.yml"}
	globs     = []string{"*.yml", "prod/*.yml", "*/*", "prod/*/*.yml", "*", "site.y?l"}
	sources   = []runs.Source{runs.FromAPI, runs.FromTemplate, runs.FromSchedule, runs.FromTrigger, runs.FromRerun,
		runs.FromRetry, runs.FromRelaunch, runs.FromReconcile, runs.FromProposal}
	values = []string{"prod", "dev", ""}
)

func id(kind string) *rapid.Generator[string] {
	return rapid.Map(rapid.IntRange(0, 3), func(n int) string { return fmt.Sprint(kind, "_", n) })
}

// some draws a list that is mostly empty, since each criterion of a policy leaves out most requests.
func some[T any](t *rapid.T, g *rapid.Generator[T], name string) []T {
	if rapid.IntRange(0, 4).Draw(t, name+" is set") > 0 {
		return nil
	}
	return rapid.SliceOfN(g, 1, 3).Draw(t, name)
}

func maybe(t *rapid.T, g *rapid.Generator[int], name string) *int {
	if list := some(t, g, name); list != nil {
		return &list[0]
	}
	return nil
}

func rarely(t *rapid.T, name string) bool { return rapid.IntRange(0, 4).Draw(t, name) == 0 }

func drawLabels(t *rapid.T, more ...string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"env", "app"}), rapid.SampledFrom(append(more, values...)), 0, 2).
		Draw(t, "labels")
}

func first[T any](list []T) (out T) {
	if len(list) > 0 {
		out = list[0]
	}
	return out
}

func drawPolicy(t *rapid.T, name string) policy.Policy {
	p := policy.Policy{
		Record: object.Record{ID: "pol_" + name, Name: name},
		Effect: rapid.SampledFrom([]policy.Effect{policy.RequireApproval, policy.RequireApproval, policy.Deny}).Draw(t,
			"effect"),
		Enabled: !rarely(t, "disabled"), Message: name, ExcludeDryRun: rarely(t, "exclude_dry_run"),
		RiskAtLeast: first(some(t, rapid.SampledFrom(runs.RiskLevels()), "risk_at_least")),
		Actors: some(t, rapid.SampledFrom([]string{"user:usr_0", "user:usr_1", "team:tem_0", "team:tem_1", "usr_0"}),
			"actors"),
		DistinctApprover: rarely(t, "distinct_approver"), ApprovalsNeeded: rapid.IntRange(1, 3).Draw(t, "approvals_needed"),
		ApproverTeams: some(t, id("tem"), "approver_teams"),
		Match: policy.Match{
			Tools:           some(t, rapid.SampledFrom(tools), "tools"),
			CommandContains: first(some(t, rapid.SampledFrom([]string{"rm", "ls", "reboot"}), "command_contains")),
			Playbook:        first(some(t, rapid.SampledFrom(globs), "playbook")),
			InventoryIDs:    some(t, id("inv"), "inventory_ids"), TemplateIDs: some(t, id("tpl"), "template_ids"),
			ProjectIDs: some(t, id("prj"), "project_ids"), Queues: some(t, rapid.SampledFrom([]string{"default", "q1"}),
				"queues"),
			Sources: some(t, rapid.SampledFrom(sources), "sources"), CredentialIDs: some(t, id("crd"), "credential_ids"),
			HostsOver:          maybe(t, rapid.SampledFrom([]int{0, 5, 10, 100}), "hosts_over"),
			InventoryShareOver: maybe(t, rapid.IntRange(0, 100), "inventory_share_over"),
			LimitMissing:       rarely(t, "limit_missing"), ChangeMissing: rarely(t, "change_missing"),
		},
	}
	if rarely(t, "labelled") {
		p.Match.Labels = drawLabels(t, "*")
	}
	return p
}

// drawRun draws a run as the submission completes it, or a pipeline, with its targets.
func drawRun(t *rapid.T) (*runs.Run, []policy.Targets) {
	optional := func(kind string) string { return rapid.OneOf(rapid.Just(""), id(kind)).Draw(t, kind) }
	r := &runs.Run{Kind: runs.Single, Labels: drawLabels(t), Change: rapid.SampledFrom([]string{"", "CHG1"}).Draw(t,
		"change")}
	r.Origin.Source = rapid.SampledFrom(sources).Draw(t, "source")
	r.Spec.InventoryID, r.Spec.TemplateID, r.Spec.ProjectID = optional("inv"), optional("tpl"), optional("prj")
	r.Spec.Queue = rapid.SampledFrom([]string{"default", "q1", "q2"}).Draw(t, "queue")
	profiles := rapid.SampledFrom([]string{"", "", runs.StandardProfile, runs.HostProfile})
	r.Spec.DryRunExecutes, r.Spec.IsolationProfile = rapid.Bool().Draw(t, "executes"), profiles.Draw(t, "profile")
	r.Spec.DryRun, r.Spec.CredentialIDs = rapid.Bool().Draw(t, "dry_run"), some(t, id("crd"), "credentials")
	drawn := func(kind string) (string, string, string, string) {
		return rapid.SampledFrom(tools).Draw(t, kind+" tool"),
			rapid.SampledFrom(slices.Sorted(maps.Keys(commandLevels))).Draw(t, kind+" command"),
			rapid.SampledFrom(playbooks).Draw(t, kind+" playbook"),
			rapid.SampledFrom([]string{"", "web", "all"}).Draw(t, kind+" limit")
	}
	targets := rapid.Custom(func(t *rapid.T) policy.Targets {
		n := rapid.SampledFrom([]int{-1, 0, 1, 5, 6, 10, 11, 100, 101, 1000, 1001}).Draw(t, "hosts")
		of := n + rapid.SampledFrom([]int{0, 1, n, 99 * n}).Draw(t, "others")
		if n < 0 || rarely(t, "no size") {
			of = -1
		}
		return policy.Targets{Hosts: n, Of: of}
	})
	if rapid.Bool().Draw(t, "single") {
		r.Spec.Tool, r.Spec.Command, r.Spec.Playbook, r.Spec.Limit = drawn("run")
		r.Spec.LimitHosts = some(t, id("host"), "limit_hosts")
		return r, []policy.Targets{targets.Draw(t, "targets")}
	}
	r.Kind, r.Graph = runs.Pipeline, &runs.Graph{Steps: make([]runs.StepState, rapid.IntRange(1, 4).Draw(t, "steps"))}
	for i := range r.Graph.Steps {
		s := &r.Graph.Steps[i]
		s.Tool, s.Command, s.Playbook, s.Limit = drawn("step")
		if s.Tool == "ansible" && rapid.Bool().Draw(t, "no tool") {
			s.Tool = ""
		}
		s.InventoryID, s.Queue = optional("inv"), rapid.SampledFrom([]string{"", "q1"}).Draw(t, "queue")
		s.CredentialIDs = rapid.SampledFrom([][]string{nil, {}, {"crd_0"}, {"crd_1", "crd_2"}}).Draw(t, "credentials")
		s.ProjectID, s.LimitHosts = optional("prj"), some(t, id("host"), "limit_hosts")
		if rapid.Bool().Draw(t, "launches") {
			s.TemplateID = id("tpl").Draw(t, "template")
			s.Preset = &runs.Preset{Labels: drawLabels(t), Change: rapid.SampledFrom([]string{"", "CHG2"}).Draw(t, "change"),
				DryRun: rapid.Bool().Draw(t, "dry_run"), DryRunExecutes: rapid.Bool().Draw(t, "executes"),
				IsolationProfile: profiles.Draw(t, "profile")}
		}
	}
	return r, rapid.SliceOfN(targets, len(r.Graph.Steps), len(r.Graph.Steps)).Draw(t, "targets")
}

// TestLikeTheReference compares verdicts on random runs by random sets of policies with those of the reference.
func TestLikeTheReference(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		var list []policy.Policy
		for _, n := range rapid.Permutation([]string{"a", "B", "c", "d", "é", "f"}).Draw(t, "names")[:rapid.IntRange(0,
			6).Draw(t, "policies")] {
			list = append(list, drawPolicy(t, n))
		}
		compiled := evaluate.Compile(list)
		for range 4 {
			r, targets := drawRun(t)
			who := evaluate.Actor{ID: id("usr").Draw(t, "actor"), Teams: some(t, id("tem"), "teams")}
			denied, holds, level := reference(list, r, targets, who)
			got := evaluate.Request(compiled, subject.Of(r, targets), who)
			if (got.Denied == nil) != (denied == "") || got.Denied != nil && got.Denied.ID != denied {
				t.Fatalf("denied by %+v, not by %q", got.Denied, denied)
			}
			if d := cmp.Diff(holds, got.Holds); d != "" {
				t.Fatal(d)
			}
			if levelNumber(got.Risk.Level) != level {
				t.Fatalf("risk %+v, not %d", got.Risk, level)
			}
			seen[fmt.Sprintf("denied %t, held by %d", denied != "", min(len(holds), 2))]++
			seen[string(got.Risk.Level)]++
		}
	})
	if len(seen) != 4+len(runs.RiskLevels()) {
		t.Errorf("the random requests are too much alike: %v", seen)
	}
}
