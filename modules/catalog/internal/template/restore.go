package template

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// sealTargets seals the notification targets of a template, which then contains masks in place of secrets. References
// to stored secrets stay valid if the template changes meanwhile.
func (k *Templates) sealTargets(ctx context.Context, input, stored []runs.Notification) (notify.SealedTargets, error) {
	list, err := k.targets.Echoed(ctx, input, stored)
	if err != nil {
		return notify.SealedTargets{}, err
	}
	return k.targets.Seal(ctx, list)
}

// restore restores the stored values of redacted variables; steps are matched by name.
func restore(t, stored *catalog.Template) {
	t.ExtraVars = t.ExtraVars.Restore(stored.ExtraVars)
	t.Steps = slices.Clone(t.Steps)
	for i := range t.Steps {
		at := slices.IndexFunc(stored.Steps, func(s runs.StepSpec) bool { return s.Name == t.Steps[i].Name })
		if at >= 0 {
			t.Steps[i].ExtraVars = t.Steps[i].ExtraVars.Restore(stored.Steps[at].ExtraVars)
			t.Steps[i].Answers = t.Steps[i].Answers.Restore(stored.Steps[at].Answers)
		}
	}
}
