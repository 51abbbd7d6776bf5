package parent

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func step(name string, deps ...string) runs.StepSpec {
	return runs.StepSpec{Name: name, DependsOn: deps}
}

func TestNewGraphOrdersStepsThatNameNoDependency(t *testing.T) {
	t.Parallel()
	g, err := NewGraph([]runs.StepSpec{step("a"), step("b"), step("c")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, s := range g.Steps {
		got = append(got, s.DependsOn)
	}
	if diff := cmp.Diff([][]string{nil, {"a"}, {"b"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewGraphRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		steps   []runs.StepSpec
		at      string
		message string
	}{
		{"duplicate", []runs.StepSpec{step("a"), step("a")}, "steps[1].name", "steps[0]"},
		{"unknown", []runs.StepSpec{step("a"), step("b", "a", "x")}, "steps[1].depends_on[1]", `"x"`},
		{"itself", []runs.StepSpec{step("a", "a")}, "steps[0].depends_on", "a -> a"},
		{"cycle", []runs.StepSpec{step("start"), step("a", "start", "c"), step("b", "a"), step("c", "b")},
			"steps[1].depends_on", "a -> c -> b -> a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewGraph(c.steps, nil)
			var f *fault.Error
			if !errors.As(err, &f) || !runs.BadGraph.Is(err) {
				t.Fatalf("got %v, want a BadGraph fault", err)
			}
			if len(f.Fields) != 1 || f.Fields[0].Location != c.at || !strings.Contains(f.Message, c.message) {
				t.Errorf("got %+v, want %s that says %s", f, c.at, c.message)
			}
		})
	}
}

func TestSpecInherits(t *testing.T) {
	t.Parallel()
	p := runs.Spec{Inventory: "hosts", ProjectID: "prj", TimeoutSeconds: 60, Queue: "q", CredentialIDs: []string{"c"},
		DryRun: true}
	step := runs.StepSpec{Name: "a", Playbook: "p.yml", InventoryID: "inv", CredentialIDs: []string{}}
	got := step.Of(&p)
	want := runs.Spec{Tool: runs.Ansible, Playbook: "p.yml", InventoryID: "inv", ProjectID: "prj", TimeoutSeconds: 60,
		Queue: "q", CredentialIDs: []string{}, DryRun: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
