package evaluate_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

func named(name string, effect policy.Effect) policy.Policy {
	return policy.Policy{
		Record: object.Record{ID: "pol_" + name, Name: name}, Effect: effect, Enabled: true, Message: "ask " + name,
		ApprovalsNeeded: 1,
	}
}

var script = runs.Run{Spec: runs.Spec{Tool: "bash", Command: "ls"}}

func verdict(list ...policy.Policy) policy.Verdict {
	return evaluate.Request(evaluate.Compile(list), subject.Of(&script, nil), evaluate.Actor{ID: "usr_1"})
}

// TestDenyTakesPrecedence names the first policy that denies, and no hold.
func TestDenyTakesPrecedence(t *testing.T) {
	t.Parallel()
	off := named("a", policy.Deny)
	off.Enabled = false
	got := verdict(named("b", policy.RequireApproval), named("z", policy.Deny), named("m", policy.Deny), off)
	want := policy.Verdict{
		Risk:   runs.Risk{Level: runs.MediumRisk, Reasons: []string{"It executes a script."}},
		Denied: &policy.Rule{ID: "pol_m", Name: "m", Message: "ask m"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestHolds lists every policy that holds, by name, as it is.
func TestHolds(t *testing.T) {
	t.Parallel()
	full, off, unset := named("b", policy.RequireApproval), named("c", policy.RequireApproval),
		named("a", policy.RequireApproval)
	full.ApprovalsNeeded, full.ApproverTeams, full.DistinctApprover = 3, []string{"tem_1"}, true
	off.Enabled, unset.ApprovalsNeeded = false, 0
	want := []runs.Hold{
		{ID: "pol_a", Name: "a", Message: "ask a", Needed: 1},
		{ID: "pol_b", Name: "b", Message: "ask b", Needed: 3, Teams: []string{"tem_1"}, Distinct: true},
	}
	got := verdict(off, full, unset)
	if d := cmp.Diff(want, got.Holds); d != "" || got.Denied != nil {
		t.Error(d, got.Denied)
	}
	if got := verdict(); got.Holds != nil || got.Denied != nil || got.Risk.Level != runs.MediumRisk {
		t.Errorf("no policy says %+v", got)
	}
}

// TestPipelineIsHeldOnce lists a policy once that several steps match.
func TestPipelineIsHeldOnce(t *testing.T) {
	t.Parallel()
	x := pipeline(runs.StepSpec{Tool: "bash"}, runs.StepSpec{Tool: "bash"}, runs.StepSpec{Tool: "go"})
	list := evaluate.Compile([]policy.Policy{named("a", policy.RequireApproval)})
	if v := evaluate.Request(list, subject.Of(&x.run, nil), evaluate.Actor{}); len(v.Holds) != 1 {
		t.Errorf("held by %+v", v.Holds)
	}
}

// TestCompileKeepsItsInput neither sorts nor changes the list that it gets.
func TestCompileKeepsItsInput(t *testing.T) {
	t.Parallel()
	list := []policy.Policy{named("b", policy.Deny), named("a", policy.Deny)}
	evaluate.Compile(list)
	if d := cmp.Diff([]policy.Policy{named("b", policy.Deny), named("a", policy.Deny)}, list); d != "" {
		t.Error(d)
	}
}

// BenchmarkHundredPolicies compares one run with policies that differ from it in a late criterion at most, and with
// none: what remains then is the grade of its risk.
func BenchmarkHundredPolicies(b *testing.B) {
	hosts := 50
	var list []policy.Policy
	for i := range 100 {
		p := named(fmt.Sprintf("policy %03d", i), policy.RequireApproval)
		p.Match = policy.Match{
			Tools: []string{"ansible", "bash"}, InventoryIDs: []string{"inv_1", fmt.Sprint("inv_", i+2)},
			Queues: []string{"default"}, Sources: []runs.Source{runs.FromAPI}, CredentialIDs: []string{"crd_3"},
			Labels: map[string]string{"env": "prod", "app": "*"}, HostsOver: &hosts, Playbook: "plays/*.yml",
		}
		p.RiskAtLeast, p.Actors = runs.MediumRisk, []string{"team:tem_1", "user:usr_9"}
		if i < 90 {
			p.Match.Playbook = "plays/*.yaml"
		}
		list = append(list, p)
	}
	r := &runs.Run{
		Origin: runs.Origin{Source: runs.FromAPI}, Labels: map[string]string{"env": "prod", "app": "web", "team": "a"},
		Spec: runs.Spec{Tool: "ansible", Playbook: "plays/site.yml", InventoryID: "inv_1",
			CredentialIDs: []string{"crd_1", "crd_2", "crd_3"}},
	}
	targets := []policy.Targets{{Hosts: 120, Of: 400}}
	who := evaluate.Actor{ID: "usr_1", Teams: []string{"tem_7", "tem_1"}}
	for _, n := range []int{0, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			compiled := evaluate.Compile(list[:n])
			b.ReportAllocs()
			for b.Loop() {
				if v := evaluate.Request(compiled, subject.Of(r, targets), who); len(v.Holds) != n/10 {
					b.Fatal(len(v.Holds))
				}
			}
		})
	}
}
