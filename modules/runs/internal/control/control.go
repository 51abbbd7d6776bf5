package control

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/modules/runs/internal/submit"
	"github.com/writ-automation/writ/modules/runs/internal/windows"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

type Controller struct {
	machine   *lifecycle.Machine
	submitter *submit.Submitter
	store     runs.Store
	summaries runs.SummaryStore
	teams     Teams
	binder    *binding.Binder
	windows   *windows.Windows
}

// Teams tells which teams an account is a member of.
type Teams interface {
	TeamsOf(ctx context.Context, userID string) ([]identity.Team, error)
}

var (
	_ runs.Controller = (*Controller)(nil)
	_ runs.Reconciler = (*Controller)(nil)
	_ runs.Approver   = (*Controller)(nil)
)

// New returns a controller that makes its runs through the given submitter. If t is nil, no account is in a team.
func New(
	m *lifecycle.Machine, s *submit.Submitter, t Teams, b *binding.Binder, w *windows.Windows,
) *Controller {
	return &Controller{machine: m, submitter: s, store: m.Store, summaries: m.Summaries, teams: t,
		binder: b, windows: w}
}

func (c *Controller) Cancel(ctx context.Context, id string) (*runs.Run, error) {
	err := c.machine.Do(ctx, func(ctx context.Context) error { return c.machine.Cancel(ctx, id) })
	if err != nil {
		return nil, err
	}
	return c.show(ctx, id)
}

func (c *Controller) SetQueue(ctx context.Context, id, queue string, revision int64) (*runs.Run, error) {
	if err := c.submitter.SetQueue(ctx, id, queue, revision); err != nil {
		return nil, err
	}
	return c.show(ctx, id)
}

func (c *Controller) show(ctx context.Context, id string) (*runs.Run, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.binder.Current(ctx, r); err != nil {
		return nil, err
	}
	return record.Redact(r), nil
}
