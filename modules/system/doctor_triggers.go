package system

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/system"
)

// TriggerCheck reports triggers whose deliveries cannot be verified or would launch nothing.
type TriggerCheck struct{ p TriggerParams }

var _ system.Check = (*TriggerCheck)(nil)

// NewTriggerCheck creates the check.
func NewTriggerCheck(p TriggerParams) *TriggerCheck {
	return &TriggerCheck{p: p}
}

func (*TriggerCheck) Name() string { return "triggers" }

// Examine reads at most 10,000 triggers.
func (c *TriggerCheck) Examine(ctx context.Context) (system.Examination, error) {
	l := &firingExamination{owners: c.p.Owners, launcher: c.p.Launcher}
	list := func(w page.Window) ([]scheduling.Trigger, int, error) {
		return c.p.Triggers.ListTriggers(ctx, access.Everything(), scheduling.Filter{}, w)
	}
	return l.result(each(ctx, &l.survey, "triggers", list, func(t scheduling.Trigger) error {
		f := system.Finding{Object: firingSubject(t.Record), Link: "/v1/triggers/" + t.ID}
		if t.LastError != "" {
			f.Severity, f.Problem = system.Warning, "its last delivery started nothing: "+clip(t.LastError)
			f.Fix = "repair the cause that the message names, and let the forge deliver again"
			l.add(f)
		}
		if !t.RequireSignature {
			f.Severity, f.Problem = system.Warning,
				"the trigger takes deliveries without a signature, so anyone who knows its address can fire it"
			f.Fix = "give the signing secret to the forge, and let the trigger require signatures"
			l.add(f)
		}
		if err := c.proves(ctx, l, f, t.ID); err != nil {
			return err
		}
		return l.launchable(ctx, f, t.Owner, t.TemplateID, nil)
	}))
}

// proves reports a signing secret that cannot be opened. A trigger that was deleted meanwhile is skipped.
func (c *TriggerCheck) proves(ctx context.Context, l *firingExamination, f system.Finding, id string) error {
	t, err := c.p.Triggers.TriggerByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return l.skip(ctx, fmt.Errorf("read the trigger %s: %w", id, err))
	}
	text, err := c.p.Sealer.Open(ctx, id, t.Sealed)
	clear(text)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || fault.Is(err, fault.Unavailable):
		return l.skip(ctx, fmt.Errorf("open the secret of the trigger %s: %w", id, err))
	}
	f.Severity, f.Problem = system.Error, "the signing secret of the trigger was altered, or belongs to another object"
	f.Fix = "rotate the signing secret and give the new one to the forge"
	if fault.Is(err, fault.Conflict) {
		f.Problem = "the key that sealed the signing secret of the trigger is missing"
		f.Fix = "restore the encryption key, or rotate the signing secret and give the new one to the forge"
	}
	l.add(f)
	return nil
}
