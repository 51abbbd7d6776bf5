package subject_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// TestOfRun takes everything from the record of a run, and completes what is empty.
func TestOfRun(t *testing.T) {
	t.Parallel()
	r := &runs.Run{
		Labels: map[string]string{"env": "prod"}, Change: "CHG1", Vars: runs.Vars{"a": json.RawMessage("1")},
		Origin: runs.Origin{Source: runs.FromTrigger},
		Spec: runs.Spec{
			Playbook: "./plays/../site.yml", InventoryID: "inv_1", TemplateID: "tpl_1", ProjectID: "prj_1",
			CredentialIDs: []string{"crd_1"}, DryRun: true, IsolationProfile: "host", Env: map[string]string{"A": "b"},
			Controls: runs.Controls{Limit: "web"},
		},
	}
	want := []subject.Subject{{
		Tool: "ansible", Playbook: "site.yml", InventoryID: "inv_1", TemplateID: "tpl_1", ProjectID: "prj_1",
		Queue: "default", Source: runs.FromTrigger, CredentialIDs: []string{"crd_1"}, Labels: r.Labels, Limited: true,
		Change: "CHG1", DryRun: true, Profile: "host", Env: r.Spec.Env, Vars: [2]runs.Vars{r.Vars},
		Targets: policy.Targets{Hosts: 3, Of: 9},
	}}
	if d := cmp.Diff(want, subject.Of(r, []policy.Targets{{Hosts: 3, Of: 9}})); d != "" {
		t.Error(d)
	}
}

// TestOfPipeline gives each step what it has, and what it inherits.
func TestOfPipeline(t *testing.T) {
	t.Parallel()
	r := &runs.Run{
		Kind: runs.Pipeline, Change: "CHG1",
		Spec: runs.Spec{InventoryID: "inv_1", ProjectID: "prj_1", Queue: "q1", CredentialIDs: []string{"crd_1"},
			DryRun: true},
		Graph: &runs.Graph{Vars: runs.Vars{"a": json.RawMessage("1")}, Steps: []runs.StepState{
			{StepSpec: runs.StepSpec{Name: "a", Playbook: "a.yml"}},
			{StepSpec: runs.StepSpec{Name: "b", Tool: "bash", Command: "ls", InventoryID: "inv_2", Queue: "q2",
				CredentialIDs: []string{}, ExtraVars: runs.Vars{"a": json.RawMessage("2")}, Limit: "db"}},
			{StepSpec: runs.StepSpec{Name: "c", Playbook: "c.yml", CredentialIDs: []string{"crd_3"}}},
		}},
	}
	step := func(s subject.Subject) subject.Subject {
		s.ProjectID, s.Change, s.DryRun, s.Vars[1] = "prj_1", "CHG1", true, r.Graph.Vars
		return s
	}
	want := []subject.Subject{
		step(subject.Subject{Tool: "ansible", Playbook: "a.yml", InventoryID: "inv_1", Queue: "q1",
			CredentialIDs: []string{"crd_1"}, Targets: policy.Targets{Hosts: 2, Of: 4}}),
		step(subject.Subject{Tool: "bash", Command: "ls", InventoryID: "inv_2", Queue: "q2", CredentialIDs: []string{},
			Limited: true, Vars: [2]runs.Vars{{"a": json.RawMessage("2")}}}),
		step(subject.Subject{Tool: "ansible", Playbook: "c.yml", InventoryID: "inv_1", Queue: "q1",
			CredentialIDs: []string{"crd_3"}, Targets: policy.UnknownTargets()}),
	}
	if d := cmp.Diff(want, subject.Of(r, []policy.Targets{{Hosts: 2, Of: 4}, {Hosts: 7, Of: 7}})); d != "" {
		t.Error(d)
	}
}

// TestLimited takes limits of separators as none, as Ansible does, and lists of hosts as limits.
func TestLimited(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]bool{"": false, " ": false, ",": false, ":, \t": false, "all": true, "!a": true,
		"*": true} {
		r := &runs.Run{Spec: runs.Spec{Controls: runs.Controls{Limit: limit}}}
		if got := subject.Of(r, nil)[0].Limited; got != want {
			t.Errorf("limit %q: %v", limit, got)
		}
	}
	relaunch := &runs.Run{Spec: runs.Spec{LimitHosts: []string{"a"}}}
	retry := &runs.Run{ShardHosts: [][]string{{"a"}, {"b"}}}
	if !subject.Of(relaunch, nil)[0].Limited || !subject.Of(retry, nil)[0].Limited {
		t.Error("the hosts of a relaunch or a retry are no limit")
	}
}

// TestSetting prefers the variables of a step to those of the pipeline, and both to the environment.
func TestSetting(t *testing.T) {
	t.Parallel()
	s := subject.Subject{
		Vars: [2]runs.Vars{{"a": json.RawMessage(`"x"`)}, {"a": json.RawMessage("1"), "b": json.RawMessage("true")}},
		Env:  map[string]string{"A": "env", "C": "env"},
	}
	for name, want := range map[string]string{"a": "x", "b": "true", "c": "env", "d": ""} {
		if got := s.Setting(name, map[string]string{"a": "A", "c": "C"}[name]); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

// TestOfTheStepOfATemplate adds what the template says to what the pipeline says.
func TestOfTheStepOfATemplate(t *testing.T) {
	t.Parallel()
	x := &runs.Preset{Labels: map[string]string{"env": "production"}, Change: "CHG2"}
	r := &runs.Run{Kind: runs.Pipeline, Labels: map[string]string{"env": "dev"}, Graph: &runs.Graph{
		Steps: []runs.StepState{{StepSpec: runs.StepSpec{TemplateID: "tpl_1", Preset: x}}, {}}}}
	got := subject.Of(r, nil)
	is := func(s *subject.Subject, value string) bool {
		return s.Labelled("env", func(v string) bool { return v == value })
	}
	if !is(&got[0], "dev") || !is(&got[0], "production") || is(&got[0], "test") || got[0].Change != "CHG2" {
		t.Errorf("%+v", got[0])
	}
	if is(&got[1], "production") || got[1].Change != "" {
		t.Errorf("another step: %+v", got[1])
	}
	r.Change = "CHG1"
	if got := subject.Of(r, nil)[0]; got.Change != "CHG1" {
		t.Errorf("the change is %q", got.Change)
	}
}

// TestDryRun counts what a dry run executes as no dry run.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool          string
		dry, executes bool
		want          bool
	}{
		{"bash", true, false, true}, {"bash", true, true, false}, {"bash", false, true, false},
		{runs.Ansible, true, true, true}, {"", true, true, true}, {"tofu", true, true, true},
	} {
		r := &runs.Run{Spec: runs.Spec{Tool: c.tool, DryRun: c.dry, DryRunExecutes: c.executes}}
		step := &runs.Run{Kind: runs.Pipeline, Spec: r.Spec, Graph: &runs.Graph{
			Steps: []runs.StepState{{StepSpec: runs.StepSpec{Tool: c.tool}}}}}
		preset := &runs.Run{Kind: runs.Pipeline, Graph: &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{
			Tool: c.tool, Preset: &runs.Preset{DryRun: c.dry, DryRunExecutes: c.executes}}}}}}
		for _, x := range []*runs.Run{r, step, preset} {
			if got := subject.Of(x, nil)[0].DryRun; got != c.want {
				t.Errorf("%+v: %t", c, got)
			}
		}
	}
}
