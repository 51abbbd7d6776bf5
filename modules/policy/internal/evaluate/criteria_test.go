package evaluate_test

import (
	"testing"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// request is a run with its targets and who asks for it.
type request struct {
	run     runs.Run
	targets []policy.Targets
	who     evaluate.Actor
}

func spec(s runs.Spec) request { return request{run: runs.Run{Spec: s}} }

func over(tool string, hosts, of int) request {
	x := spec(runs.Spec{Tool: tool})
	x.targets = []policy.Targets{{Hosts: hosts, Of: of}}
	return x
}

func labels(l map[string]string) request { return request{run: runs.Run{Labels: l}} }

func from(s runs.Source) request { return request{run: runs.Run{Origin: runs.Origin{Source: s}}} }

func by(id string, teams ...string) request {
	return request{who: evaluate.Actor{ID: id, Teams: teams}}
}

func limit(tool, limit string, hosts ...string) request {
	return spec(runs.Spec{Tool: tool, Controls: runs.Controls{Limit: limit}, LimitHosts: hosts})
}

func pipeline(steps ...runs.StepSpec) request {
	g := &runs.Graph{}
	for _, s := range steps {
		g.Steps = append(g.Steps, runs.StepState{StepSpec: s})
	}
	return request{run: runs.Run{Kind: runs.Pipeline, Graph: g}}
}

func match(m policy.Match) policy.Policy { return policy.Policy{Match: m} }

// criterion has for a policy with one criterion requests that meet it, and others that are close.
type criterion struct {
	policy      policy.Policy
	match, miss []request
}

// textCriteria are those that compare names and texts.
func textCriteria() map[string]criterion {
	return map[string]criterion{
		"everything": {match(policy.Match{}), []request{{}, spec(runs.Spec{Tool: "bash"}), pipeline(runs.StepSpec{})},
			[]request{pipeline()}},
		"empty lists": {policy.Policy{Actors: []string{}, Match: policy.Match{Tools: []string{},
			Labels: map[string]string{}}},
			[]request{{}}, nil},
		"tools": {match(policy.Match{Tools: []string{"bash", "ansible"}}),
			[]request{spec(runs.Spec{Tool: "bash"}), spec(runs.Spec{}), pipeline(runs.StepSpec{Tool: "go"}, runs.StepSpec{})},
			[]request{spec(runs.Spec{Tool: "python"}), spec(runs.Spec{Tool: "Bash"}), pipeline(runs.StepSpec{Tool: "go"})}},
		"command": {match(policy.Match{CommandContains: "rm -rf"}),
			[]request{spec(runs.Spec{Command: "cd /; rm -rf x"}), pipeline(runs.StepSpec{},
				runs.StepSpec{Command: "rm -rf"})},
			[]request{{}, spec(runs.Spec{Command: "RM -RF x"}), spec(runs.Spec{Command: "rm  -rf"}),
				spec(runs.Spec{Playbook: "rm -rf"})}},
		"playbook": {match(policy.Match{Playbook: "prod/*.yml"}),
			[]request{spec(runs.Spec{Playbook: "prod/site.yml"}), spec(runs.Spec{Playbook: "./prod//x/../site.yml"})},
			[]request{{}, spec(runs.Spec{Playbook: "prod/a/site.yml"}), spec(runs.Spec{Playbook: "x/prod/site.yml"}),
				spec(runs.Spec{Playbook: "prod/site.yaml"}), spec(runs.Spec{Command: "prod/site.yml"})}},
		"any playbook": {match(policy.Match{Playbook: "./*"}),
			[]request{spec(runs.Spec{Playbook: "site.yml"})}, []request{{}, spec(runs.Spec{Playbook: "a/site.yml"})}},
		"no pattern": {match(policy.Match{Playbook: "[a"}), nil, []request{spec(runs.Spec{Playbook: "[a"}), {}}},
		"inventories": {match(policy.Match{InventoryIDs: []string{"inv_1", "inv_2"}}),
			[]request{spec(runs.Spec{InventoryID: "inv_2"}), pipeline(runs.StepSpec{}, runs.StepSpec{InventoryID: "inv_1"})},
			[]request{{}, spec(runs.Spec{InventoryID: "inv_3"}), spec(runs.Spec{Inventory: "inv_1"})}},
		"templates": {match(policy.Match{TemplateIDs: []string{"tpl_1"}}),
			[]request{spec(runs.Spec{TemplateID: "tpl_1"})}, []request{{}, spec(runs.Spec{TemplateID: "tpl_11"})}},
		"projects": {match(policy.Match{ProjectIDs: []string{"prj_1"}}),
			[]request{spec(runs.Spec{ProjectID: "prj_1"})}, []request{{}, spec(runs.Spec{ProjectID: "prj_2"})}},
		"queues": {match(policy.Match{Queues: []string{"default", "dc1"}}),
			[]request{{}, spec(runs.Spec{Queue: "dc1"}), pipeline(runs.StepSpec{Queue: "x"}, runs.StepSpec{Queue: "dc1"})},
			[]request{spec(runs.Spec{Queue: "dc2"}), pipeline(runs.StepSpec{Queue: "x"})}},
		"sources": {match(policy.Match{Sources: []runs.Source{runs.FromAPI, runs.FromRetry}}),
			[]request{from(runs.FromAPI), from(runs.FromRetry)}, []request{from(runs.FromRerun), from("")}},
		"credentials": {match(policy.Match{CredentialIDs: []string{"crd_1", "crd_2"}}),
			[]request{spec(runs.Spec{CredentialIDs: []string{"crd_9", "crd_2"}}),
				pipeline(runs.StepSpec{}, runs.StepSpec{CredentialIDs: []string{"crd_1"}})},
			[]request{{}, spec(runs.Spec{CredentialIDs: []string{"crd_9"}})}},
		"labels": {match(policy.Match{Labels: map[string]string{"env": "prod", "app": "*"}}),
			[]request{labels(map[string]string{"env": "prod", "app": "web", "x": "y"}),
				labels(map[string]string{"env": "prod", "app": ""})},
			[]request{{}, labels(map[string]string{"env": "prod"}), labels(map[string]string{"env": "Prod", "app": "a"}),
				labels(map[string]string{"env": "*", "app": "a"})}},
		"change": {match(policy.Match{ChangeMissing: true}), []request{{}, pipeline(runs.StepSpec{})},
			[]request{{run: runs.Run{Change: "CHG1"}}}},
	}
}

// reachCriteria are those about hosts, risk and people.
func reachCriteria() map[string]criterion {
	two, half, third, none := 2, 50, 33, 0
	return map[string]criterion{
		"hosts over": {match(policy.Match{HostsOver: &two}),
			[]request{over("", 3, 9), over("ansible", -1, -1), over("terraform", -1, 5), over("terraform", 3, 3), {},
				pipeline(runs.StepSpec{Tool: "bash"}, runs.StepSpec{})},
			[]request{over("", 2, 9), over("bash", 3, 9), over("go", -1, -1), over("python", 3, 3), over("powershell", -1, 0),
				pipeline(runs.StepSpec{Tool: "bash"})}},
		"any host": {match(policy.Match{HostsOver: &none}), []request{over("", 1, 1), over("", -1, -1)},
			[]request{over("", 0, 4), over("bash", 1, 1)}},
		"share": {match(policy.Match{InventoryShareOver: &half}),
			[]request{over("", 3, 5), over("", 1, 1), over("", -1, -1), over("", 3, -1), over("terraform", -1, -1)},
			[]request{over("", 5, 10), over("", 0, 0), over("", 0, -1), over("bash", 3, 5), over("go", -1, -1)}},
		"share of a third": {match(policy.Match{InventoryShareOver: &third}), []request{over("", 1, 3)},
			[]request{over("", 33, 100)}},
		"limit": {match(policy.Match{LimitMissing: true}),
			[]request{limit("", ""), limit("ansible", " "), pipeline(runs.StepSpec{Limit: "a"}, runs.StepSpec{})},
			[]request{limit("", "web"), limit("", "all"), limit("", "", "a"), limit("bash", ""), limit("terraform", ""),
				pipeline(runs.StepSpec{Limit: "a"})}},
		"dry runs": {policy.Policy{ExcludeDryRun: true}, []request{{}, spec(runs.Spec{Tool: "bash"})},
			[]request{spec(runs.Spec{DryRun: true})}},
		"risk": {policy.Policy{RiskAtLeast: runs.MediumRisk},
			[]request{spec(runs.Spec{Tool: "bash"}), labels(map[string]string{"env": "prod"}), over("", -1, -1),
				pipeline(runs.StepSpec{Tool: "bash"})},
			[]request{over("", 1, 1), spec(runs.Spec{Tool: "bash", DryRun: true})}},
		"risk of the step": {policy.Policy{RiskAtLeast: runs.HighRisk, Match: policy.Match{Tools: []string{"python"}}},
			[]request{pipeline(runs.StepSpec{Tool: "python", Command: "rmtree(x)"})},
			[]request{pipeline(runs.StepSpec{Tool: "python"}, runs.StepSpec{Tool: "bash", Command: "rm -rf x"})}},
		"one step meets all": {match(policy.Match{Tools: []string{"bash"}, InventoryIDs: []string{"inv_1"}}),
			[]request{pipeline(runs.StepSpec{}, runs.StepSpec{Tool: "bash", InventoryID: "inv_1"})},
			[]request{pipeline(runs.StepSpec{InventoryID: "inv_1"}, runs.StepSpec{Tool: "bash"})}},
		"actors": {policy.Policy{Actors: []string{"user:usr_1", "team:tem_1"}},
			[]request{by("usr_1"), by("usr_2", "tem_9", "tem_1"), by("usr_1", "tem_9")},
			[]request{by("usr_2"), by(""), by("tem_1"), by("usr_2", "usr_1"), by("user:usr_1")}},
		"no actors": {policy.Policy{Actors: []string{"usr_1"}}, nil, []request{by("usr_1"), by("")}},
	}
}

// TestCriteria shows what each criterion matches, and what it leaves out.
func TestCriteria(t *testing.T) {
	t.Parallel()
	for _, all := range []map[string]criterion{textCriteria(), reachCriteria()} {
		for name, c := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.policy.Enabled, c.policy.Effect = true, policy.RequireApproval
				list := evaluate.Compile([]policy.Policy{c.policy})
				for want, requests := range map[bool][]request{true: c.match, false: c.miss} {
					for _, x := range requests {
						v := evaluate.Request(list, subject.Of(&x.run, x.targets), x.who)
						if got := len(v.Holds) == 1; got != want {
							t.Errorf("%v: %+v %+v %v by %v", got, x.run.Spec, x.run.Graph, x.targets, x.who)
						}
					}
				}
			})
		}
	}
}
