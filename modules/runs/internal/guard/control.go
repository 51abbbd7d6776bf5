package guard

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/control"
	"github.com/writ-automation/writ/modules/runs/internal/rights"
	"github.com/writ-automation/writ/ports/runs"
)

// Controller lets the caller act on the runs that it may use.
type Controller struct {
	next runs.Controller
	gate *rights.Gate
}

var _ runs.Controller = (*Controller)(nil)

// NewController guards a controller.
func NewController(next runs.Controller, g *rights.Gate) *Controller {
	return &Controller{next: next, gate: g}
}

func (c *Controller) Cancel(ctx context.Context, id string) (*runs.Run, error) {
	return c.act(ctx, id, c.next.Cancel)
}

func (c *Controller) Retry(ctx context.Context, id string) (*runs.Run, error) {
	return c.act(ctx, id, c.next.Retry)
}

func (c *Controller) RelaunchFailed(ctx context.Context, id string) (*runs.Run, error) {
	return c.act(ctx, id, c.next.RelaunchFailed)
}

func (c *Controller) Rerun(ctx context.Context, id string) (*runs.Run, error) {
	return c.act(ctx, id, c.next.Rerun)
}

func (c *Controller) act(ctx context.Context, id string, do func(context.Context, string) (*runs.Run, error)) (*runs.Run, error) {
	if err := c.gate.Use(ctx, id); err != nil {
		return nil, err
	}
	return do(ctx, id)
}

// Approver lets the caller decide about the runs that it may read; who may decide at all is a matter of roles.
type Approver struct {
	next runs.Approver
	gate *rights.Gate
}

var _ runs.Approver = (*Approver)(nil)

// NewApprover guards an approver.
func NewApprover(next runs.Approver, g *rights.Gate) *Approver {
	return &Approver{next: next, gate: g}
}

func (a *Approver) Approve(ctx context.Context, id, reason string) (*runs.Run, error) {
	return a.decide(ctx, id, reason, a.next.Approve)
}

func (a *Approver) Reject(ctx context.Context, id, reason string) (*runs.Run, error) {
	return a.decide(ctx, id, reason, a.next.Reject)
}

// decide judges the reason first: what is wrong with a request is told before what it is about.
func (a *Approver) decide(
	ctx context.Context, id, reason string, do func(context.Context, string, string) (*runs.Run, error),
) (*runs.Run, error) {
	if err := control.CheckReason(reason); err != nil {
		return nil, err
	}
	if err := a.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return do(ctx, id, reason)
}
