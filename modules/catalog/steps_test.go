package catalog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// launching is a workflow that launches a template in its second step.
func launching(name, id string) catalog.Template {
	t := workflow(name)
	t.Steps[1] = runs.StepSpec{Name: "ship", TemplateID: id, DependsOn: []string{"build"}}
	return t
}

// TestNoTemplateReachesItself refuses a step that launches a workflow, also one that becomes a workflow by the same
// change, and a workflow of a template that is a step. A refused change leaves everything as it was.
func TestNoTemplateReachesItself(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		plain, step := b.template(template("plain")), b.template(template("step"))
		whole := b.template(launching("whole", step.ID))
		want := b.stored()
		refused := func(id string, x catalog.Template, at string) {
			t.Helper()
			_, err := b.Templates.Update(ctx, id, 0, x)
			if !fault.Is(err, fault.Invalid) || field(err) != at || at == "steps" && !strings.Contains(err.Error(), whole.ID) {
				t.Errorf("%v, not of %s", err, at)
			}
			if got := b.stored(); got != want {
				t.Errorf("a refused change left\n%s\nnot\n%s", got, want)
			}
		}
		refused(plain.ID, launching("self", plain.ID), "steps[1].template_id")
		refused(plain.ID, launching("over", whole.ID), "steps[1].template_id")
		refused(step.ID, workflow("step"), "steps")
		if _, err := b.Templates.Create(ctx, launching("deep", whole.ID)); !fault.Is(err, fault.Invalid) {
			t.Errorf("a workflow in a workflow: %v", err)
		}
		b.guard.become(access.None, map[string]access.Level{step.ID: access.Manage})
		if _, err := b.Templates.Update(ctx, step.ID, 0, workflow("step")); field(err) != "steps" ||
			strings.Contains(err.Error(), whole.ID) {
			t.Errorf("with a workflow that the caller may not read: %v", err)
		}
		b.guard.admins()
		must[catalog.Template](t)(b.Templates.Update(ctx, whole.ID, 0, template("whole")))
		must[catalog.Template](t)(b.Templates.Update(ctx, step.ID, 0, workflow("step")))
		list, _, err := b.rights.Readable(ctx, "template", access.Everything(), window)
		if err != nil || len(list) != 3 {
			t.Errorf("%d templates can carry grants, %v", len(list), err)
		}
	})
}

// TestAStepBecomesAWorkflow saves a workflow while the template of its step becomes one: one of them is refused.
func TestAStepBecomesAWorkflow(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for n := range 10 {
			step := b.template(template(fmt.Sprint("step", n)))
			var work sync.WaitGroup
			var named, changed error
			work.Go(func() { _, named = b.Templates.Create(ctx, launching(fmt.Sprint("whole", n), step.ID)) })
			work.Go(func() { _, changed = b.Templates.Update(ctx, step.ID, 0, workflow(step.Name)) })
			work.Wait()
			switch {
			case named == nil && fault.Is(changed, fault.Invalid) && field(changed) == "steps":
			case changed == nil && fault.Is(named, fault.Invalid) && field(named) == "steps[1].template_id":
			default:
				t.Errorf("named: %v, changed: %v", named, changed)
			}
		}
	})
}

// TestStepOfATemplate has what the step is evaluated with, and what its pipeline waits for.
func TestStepOfATemplate(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	x := template("deploy")
	x.Labels, x.Change, x.Locks, x.ExclusiveHosts = map[string]string{"env": "production"}, "CHG-1", []string{"db"}, true
	got := must[catalog.Step](t)(b.References.Step(t.Context(), b.template(x).ID, nil))
	if !maps.Equal(got.Spec.Preset.Labels, x.Labels) || got.Spec.Preset.Change != "CHG-1" ||
		!slices.Equal(got.Locks, x.Locks) || !got.ExclusiveHosts {
		t.Errorf("%+v, %+v", got, got.Spec.Preset)
	}
}
