package runs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// governance is what a run is evaluated with, and waits for.
type governance struct {
	Labels    map[string]string
	Change    string
	Locks     []string
	Exclusive bool
	Status    runs.Status
	FailOn    []string
}

func governanceOf(r *runs.Run) governance {
	return governance{r.Labels, r.Change, r.Spec.Locks, r.Spec.ExclusiveHosts, r.Status, r.Spec.FailOn}
}

var (
	production = map[string]string{"env": "production"}
	governed   = governance{production, "CHG-1", []string{"db"}, true, runs.PendingApproval,
		[]string{runs.FailOnUnreachable}}
)

func (s fakeCatalog) Step(_ context.Context, id string, _ runs.Vars) (catalog.Step, error) {
	x, ok := s.steps[id]
	if !ok {
		return catalog.Step{}, fault.Missing("template", id)
	}
	return x, nil
}

// failed ends a claimed run with a host that failed.
func (b *bundle) failed(a *runs.Assignment, host string) {
	b.t.Helper()
	b.begin(a)
	b.finish(a, runs.Ending{Status: runs.Failed, Touched: 1, Counts: runs.HostCounts{runs.HostFailed: 1},
		Hosts: []runs.HostSummary{{Host: host, Failed: 1, Worst: runs.HostFailed}}})
}

// repeated makes runs from a child in each way that there is.
func (b *bundle) repeated(id string) map[string]*runs.Run {
	b.t.Helper()
	ctx := b.t.Context()
	return map[string]*runs.Run{
		"rerun":     must[*runs.Run](b.t)(b.Controller.Rerun(ctx, id)),
		"relaunch":  must[*runs.Run](b.t)(b.Controller.RelaunchFailed(ctx, id)),
		"reconcile": must[*runs.Run](b.t)(b.Reconciler.Reconcile(ctx, id, runs.Reconciliation{Host: "a", SourceID: "tgt_1"})),
	}
}

// TestARepeatedShardIsGovernedAsItsSplit holds a run that is made from a shard where the split was held, and gives it
// what policies and other runs look at.
func TestARepeatedShardIsGovernedAsItsSplit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		q := playbook()
		q.Labels, q.Change, q.Shards, q.FailOn = production, "CHG-1", 2, []string{runs.FailOnUnreachable}
		q.Locks, q.ExclusiveHosts, q.RequireApproval = []string{"db"}, true, true
		split := b.submit(q)
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), split.ID, runs.DecisionInput{}))
		if err := b.Worklist.Divide(t.Context(), b.wants(split).Lease, []string{"a", "b"}, nil); err != nil {
			t.Fatal(err)
		}
		shard := b.claim()
		b.failed(shard, shard.Run.Spec.LimitHosts[0])
		for how, made := range b.repeated(shard.Run.ID) {
			if diff := cmp.Diff(governed, governanceOf(made)); diff != "" {
				t.Errorf("%s: %s", how, diff)
			}
		}
	})
}

// TestARepeatedStepIsGovernedAsItsPipeline does the same for steps, of which one launches a template. A run of a held
// step, and one that applies the plan of a step, are evaluated like it.
func TestARepeatedStepIsGovernedAsItsPipeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		x := stage("play")
		x.Tool, x.Command, x.Playbook = runs.Ansible, "", "site.yml"
		p := b.pipeline(runs.PipelineSubmission{Labels: production, Change: "CHG-1", Locks: []string{"db"},
			ExclusiveHosts: true, RequireApproval: true, Inventory: "a,b", FailOn: []string{runs.FailOnUnreachable},
			Steps: []runs.StepSpec{x}})
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		step := b.claim()
		b.failed(step, "a")
		for how, made := range b.repeated(step.Run.ID) {
			if diff := cmp.Diff(governed, governanceOf(made)); diff != "" {
				t.Errorf("%s: %s", how, diff)
			}
		}

		b.policies.exempt = true
		ann := account(t.Context(), "ann", identity.Operator)
		q := runs.PipelineSubmission{Labels: production, Change: "CHG-1", Steps: []runs.StepSpec{heldStage("gate")}}
		p, _, err := b.Submitter.SubmitPipeline(ann, q)
		if err != nil {
			t.Fatal(err)
		}
		look, _, err := b.Controller.Preview(ann, b.child(p, "gate").ID)
		if err != nil || !maps.Equal(look.Labels, production) || look.Change != "CHG-1" || look.Spec.Locks != nil {
			t.Errorf("a preview: %+v, %v", look, err)
		}
		must[*runs.Run](t)(b.Controller.Cancel(ann, look.ID))

		q.Steps, q.DryRun, q.Locks = []runs.StepSpec{stage("plan")}, true, []string{"state"}
		if _, _, err := b.Submitter.SubmitPipeline(ann, q); err != nil {
			t.Fatal(err)
		}
		plan := b.claim()
		b.begin(plan)
		apply := b.get(b.propose(plan, planned("sha256:1")))
		if !maps.Equal(apply.Labels, production) || apply.Change != "CHG-1" || !slices.Equal(apply.Spec.Locks, q.Locks) {
			t.Errorf("the run that applies a plan: %+v", apply)
		}
	})
}

// TestARepeatedStepIsHeldAsItsWorkflowHolds looks at the step and at the whole workflow as they are now.
func TestARepeatedStepIsHeldAsItsWorkflowHolds(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		p := b.pipeline(runs.PipelineSubmission{TemplateID: template, Steps: []runs.StepSpec{stage("a"), stage("b")}})
		a := b.run(runs.Succeeded).Run.ID
		for _, c := range []struct {
			all  bool
			step string
			want runs.Status
		}{
			{false, "", runs.Pending}, {false, "b", runs.Pending}, {false, "a", runs.PendingApproval},
			{true, "", runs.PendingApproval},
		} {
			s.setHolds(c.all, c.step)
			if again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), a)); again.Status != c.want {
				t.Errorf("of %s, %+v: %s", p.ID, c, again.Status)
			}
		}
	})
}

// TestStepsBringWhatTheirTemplatesAsk gives a pipeline the locks of the templates that its steps launch, and each step
// the labels and the change.
func TestStepsBringWhatTheirTemplatesAsk(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		second := "tpl_0000000000000000000000000b"
		step := func(id string, labels map[string]string, locks ...string) catalog.Step {
			return catalog.Step{Vouched: []string{id}, Locks: locks, ExclusiveHosts: id == second, Spec: runs.StepSpec{
				TemplateID: id, Tool: "bash", Command: "true", CredentialIDs: []string{}, FailOn: []string{},
				Preset: &runs.Preset{Labels: labels, Change: "CHG-2"}}}
		}
		many := []string{"db", "lb"}
		for i := range runs.MaxLocks - 2 {
			many = append(many, fmt.Sprint("l", i))
		}
		s.steps = map[string]catalog.Step{template: step(template, production, many...),
			second: step(second, map[string]string{"env": "test"}, "db", "dns")}
		launch := func(name, id string) runs.StepSpec { return runs.StepSpec{Name: name, TemplateID: id} }
		q := runs.PipelineSubmission{Labels: map[string]string{"env": "dev", "app": "shop"}, Locks: []string{"own"},
			Steps: []runs.StepSpec{launch("one", template), launch("two", second), stage("three")}}
		holder := b.wants(b.submit(locked("dns")))
		p := b.pipeline(q)
		want := append(append([]string{"own"}, many...), "dns")
		if got := b.get(p.ID); !slices.Equal(got.Spec.Locks, want) || !got.Spec.ExclusiveHosts ||
			got.Labels["env"] != "dev" || !maps.Equal(got.Graph.Step("one").Preset.Labels, production) {
			t.Errorf("%+v, %v", got.Spec, got.Labels)
		}
		b.idle()
		b.end(holder)
		one := b.claim()
		b.end(one)
		for name, id := range map[string]string{"the pipeline": p.ID, "a step": one.Run.ID} {
			again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), id))
			if !slices.Equal(again.Spec.Locks, want) || !again.Spec.ExclusiveHosts {
				t.Errorf("a rerun of %s has %v", name, again.Spec.Locks)
			}
			if name == "a step" && (again.Change != "CHG-2" ||
				!maps.Equal(again.Labels, map[string]string{"env": "production", "app": "shop"})) {
				t.Errorf("a rerun of a step has %v, %q", again.Labels, again.Change)
			}
		}
		q.Locks = append(many, "own")
		if _, _, err := b.Submitter.SubmitPipeline(t.Context(), q); !fault.Is(err, fault.Invalid) {
			t.Errorf("more locks than a request may name: %v", err)
		}
	})
}
