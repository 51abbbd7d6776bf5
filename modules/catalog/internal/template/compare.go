package template

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

func (k *Templates) Compare(ctx context.Context, id string, t catalog.Template) ([]string, error) {
	was, err := k.Reach(ctx, access.Manage, id)
	if err != nil {
		return nil, err
	}
	if t, err = checked(t); err != nil {
		return nil, err
	}
	restore(&t, &was)
	var out []string
	for _, m := range []struct {
		name string
		same func() (bool, error)
	}{
		{"notifications", func() (bool, error) { return k.targets.Same(ctx, t.Notifications, was.Notifications) }},
		{"extra_vars", func() (bool, error) { return runs.Alike(t.ExtraVars, was.ExtraVars) }},
		{"steps", func() (bool, error) { return runs.Alike(t.Steps, was.Steps) }},
	} {
		same, err := m.same()
		if err != nil {
			return nil, err
		}
		if !same {
			out = append(out, m.name)
		}
	}
	return out, nil
}
