package guard

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// maxReason bounds the reason of a decision, in characters.
const maxReason = 2000

// Submitter shows the runs that it made to who may read all of their credentials, and to others without those.
type Submitter struct {
	next runs.Submitter
	gate *Gate
}

var _ runs.Submitter = (*Submitter)(nil)

// NewSubmitter guards a submitter, which judges the rights on what a run names itself.
func NewSubmitter(next runs.Submitter, g *Gate) *Submitter { return &Submitter{next: next, gate: g} }

func (s *Submitter) Submit(ctx context.Context, q runs.Submission) (*runs.Run, bool, error) {
	run, replayed, err := s.next.Submit(ctx, q)
	run, err = s.gate.shown(ctx, run, err)
	return run, replayed, err
}

func (s *Submitter) SubmitPipeline(ctx context.Context, q runs.PipelineSubmission) (*runs.Run, bool, error) {
	run, replayed, err := s.next.SubmitPipeline(ctx, q)
	run, err = s.gate.shown(ctx, run, err)
	return run, replayed, err
}

// Controller lets the caller act on the runs that it may use.
type Controller struct {
	next   runs.Controller
	repair runs.Reconciler
	gate   *Gate
}

var (
	_ runs.Controller = (*Controller)(nil)
	_ runs.Reconciler = (*Controller)(nil)
)

// NewController guards a controller.
func NewController(next interface {
	runs.Controller
	runs.Reconciler
}, g *Gate,
) *Controller {
	return &Controller{next: next, repair: next, gate: g}
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

// SetQueue needs the right to use the present queue too, which is one of the objects of the run.
func (c *Controller) SetQueue(ctx context.Context, id, queue string, revision int64) (*runs.Run, error) {
	return c.act(ctx, id, func(ctx context.Context, id string) (*runs.Run, error) {
		return c.next.SetQueue(ctx, id, queue, revision)
	})
}

// Reconcile needs the rights that a rerun needs.
func (c *Controller) Reconcile(ctx context.Context, id string, r runs.Reconciliation) (*runs.Run, error) {
	return c.act(ctx, id, func(ctx context.Context, id string) (*runs.Run, error) {
		return c.repair.Reconcile(ctx, id, r)
	})
}

// Preview needs no right to use the objects of the run: whoever asked for the run had it, or its template has.
func (c *Controller) Preview(ctx context.Context, id string) (*runs.Run, bool, error) {
	if err := c.gate.Read(ctx, id); err != nil {
		return nil, false, err
	}
	run, again, err := c.next.Preview(ctx, id)
	run, err = c.gate.shown(ctx, run, err)
	return run, again, err
}

func (c *Controller) act(
	ctx context.Context, id string, do func(context.Context, string) (*runs.Run, error),
) (*runs.Run, error) {
	if err := c.gate.Use(ctx, id); err != nil {
		return nil, err
	}
	run, err := do(ctx, id)
	return c.gate.shown(ctx, run, err)
}

// Approver lets the caller decide about the runs that it may read, if what holds them lets it.
type Approver struct {
	next runs.Approver
	gate *Gate
}

var _ runs.Approver = (*Approver)(nil)

// NewApprover guards an approver.
func NewApprover(next runs.Approver, g *Gate) *Approver {
	return &Approver{next: next, gate: g}
}

func (a *Approver) Approve(ctx context.Context, id string, in runs.DecisionInput) (*runs.Run, error) {
	return a.decide(ctx, id, in, a.next.Approve)
}

func (a *Approver) Reject(ctx context.Context, id string, in runs.DecisionInput) (*runs.Run, error) {
	return a.decide(ctx, id, in, a.next.Reject)
}

// decide checks the reason before the run, since an invalid request is refused before its object is looked up.
func (a *Approver) decide(
	ctx context.Context, id string, in runs.DecisionInput,
	do func(context.Context, string, runs.DecisionInput) (*runs.Run, error),
) (*runs.Run, error) {
	if err := CheckReason(in.Reason); err != nil {
		return nil, err
	}
	if err := a.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	run, err := do(ctx, id, in)
	return a.gate.shown(ctx, run, err)
}

// CheckReason returns an Invalid fault for a reason that is too long or no text.
func CheckReason(reason string) error {
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason || strings.IndexByte(reason, 0) >= 0 {
		return fault.BadField("reason", "must be text of at most %d characters without NUL", maxReason)
	}
	return nil
}
