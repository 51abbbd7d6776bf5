package template

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// told returns targets of notifications as the template holds them, in the open unit: of what is secret in them it holds masks.
func (k *Templates) told(ctx context.Context, said, stored []runs.Notification) ([]runs.Notification, error) {
	list, err := k.targets.Echoed(ctx, said, stored)
	if err != nil {
		return nil, err
	}
	return k.targets.Keep(ctx, list)
}

// judged returns targets as they are judged: a mask stands for what is stored, which was judged before.
func judged(said []runs.Notification) []runs.Notification {
	out := slices.Clone(said)
	for i := range out {
		if address, key := notify.IsMask(out[i]); address || key {
			out[i].Ref = "stored"
		}
	}
	return out
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
