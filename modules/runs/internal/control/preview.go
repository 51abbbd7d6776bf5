package control

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

func (c *Controller) Preview(ctx context.Context, id string) (*runs.Run, bool, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if p, known := identity.From(ctx); !(known && p.IsAdmin()) && !same(r.Requester(), actor.From(ctx)) {
		return nil, false, access.NotAllowed.New("administrators and whoever asked for the run may preview it")
	}
	if err := lifecycle.Decidable(r); err != nil {
		return nil, false, err
	}
	current, err := c.binder.Bind(ctx, r)
	if err != nil {
		return nil, false, err
	}
	return c.submitter.Preview(ctx, r, current)
}
