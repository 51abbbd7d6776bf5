package template

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// sealTargets returns targets of notifications on their way into the template: of what is secret in them it holds
// masks. Of stored ones the references stay good whatever becomes of the template meanwhile.
func (k *Templates) sealTargets(ctx context.Context, input, stored []runs.Notification) (notify.SealedTargets, error) {
	list, err := k.targets.Echoed(ctx, input, stored)
	if err != nil {
		return notify.SealedTargets{}, err
	}
	return k.targets.Seal(ctx, list)
}

// restore puts the stored values of variables back that were read redacted, of steps by their names.
func restore(t, stored *catalog.Template) {
	t.ExtraVars = t.ExtraVars.Restore(stored.ExtraVars)
	t.Steps = slices.Clone(t.Steps)
	for i := range t.Steps {
		at := slices.IndexFunc(stored.Steps, func(s runs.StepSpec) bool { return s.Name == t.Steps[i].Name })
		if at >= 0 {
			t.Steps[i].ExtraVars = t.Steps[i].ExtraVars.Restore(stored.Steps[at].ExtraVars)
		}
	}
}
