package template

import (
	"cmp"
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// Launcher implements catalog.Launcher.
type Launcher struct {
	permissions *object.Permissions
	store       catalog.TemplateStore
	submitter   runs.Submitter
	checker     runs.Checker
}

var _ catalog.Launcher = (*Launcher)(nil)

// NewLauncher returns a Launcher.
func NewLauncher(p *object.Permissions, s catalog.TemplateStore, sub runs.Submitter, c runs.Checker) *Launcher {
	return &Launcher{permissions: p, store: s, submitter: sub, checker: c}
}

// The Submitter records the request.
func (k *Launcher) Launch(ctx context.Context, templateID string, l catalog.Launch) (*runs.Run, bool, error) {
	m, err := k.prepare(ctx, templateID, l)
	if err != nil {
		return nil, false, err
	}
	if m.template.Workflow() {
		return k.submitter.SubmitPipeline(ctx, m.pipeline())
	}
	return k.submitter.Submit(ctx, m.single())
}

func (k *Launcher) Unattended(ctx context.Context, templateID string, answers map[string]any) error {
	m, err := k.prepare(ctx, templateID, catalog.Launch{Answers: answers})
	if err != nil {
		return err
	}
	for _, x := range append(slices.Clone(m.template.Steps), runs.StepSpec{InventoryQuery: m.template.InventoryQuery,
		InventoryID: m.template.InventoryID}) {
		if x.InventoryQuery != "" && cmp.Or(x.InventoryID, m.template.InventoryID) == "" {
			return fault.BadField("template_id",
				"selects hosts by a query without an inventory_id, which only a caller can launch")
		}
	}
	if m.template.Workflow() {
		return k.checker.CheckPipeline(ctx, m.pipeline())
	}
	return k.checker.Check(ctx, m.single())
}

// prepare reads a template that the caller may use and applies the input of the launch.
func (k *Launcher) prepare(ctx context.Context, id string, l catalog.Launch) (*launch, error) {
	t, err := k.store.TemplateByID(ctx, id)
	if err != nil {
		return nil, err
	}
	err = k.permissions.CheckAccess(ctx, access.Use, id, fault.Missing(identity.KindTemplate, id))
	if catalog.NotAllowed.Is(err) {
		err = runs.UseRequired.New("this takes the right to use the template")
	}
	if err != nil {
		return nil, err
	}
	return applyOverrides(t, l)
}

// launch is a template with the applied input.
type launch struct {
	template  catalog.Template
	vars      runs.Vars
	templated []string
	origin    runs.Origin
	vouched   []string // the ids that the template itself names
	key       *runs.Idempotency
}

func (m *launch) single() runs.Submission {
	s := submission(&m.template)
	s.ExtraVars, s.Templated, s.Origin, s.Idempotency, s.Vouched = m.vars, m.templated, m.origin, m.key, m.vouched
	return s
}

func (m *launch) pipeline() runs.PipelineSubmission {
	p := pipeline(&m.template)
	p.ExtraVars, p.Templated, p.Origin, p.Idempotency, p.Vouched = m.vars, m.templated, m.origin, m.key, m.vouched
	return p
}
