package runs

import (
	"context"

	"github.com/writ-automation/writ/ports/runs"
)

// IDInput names a run.
type IDInput struct {
	ID string `path:"id" example:"run_01k0a8bq3vtx5zk9w2m4n6p8rs"`
}

// ReasonBody tells why a held run is decided as it is.
type ReasonBody struct {
	Reason string `json:"reason,omitempty"`
}

// DecideInput decides a held run; the body may be absent.
type DecideInput struct {
	ID   string `path:"id"`
	Body *ReasonBody
}

func (in *DecideInput) reason() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Reason
}

// RunOutput answers with a run.
type RunOutput struct {
	ETag string `header:"ETag"`
	Body RunBody
}

func (h *handlers) answer(ctx context.Context, run *runs.Run, err error) (*RunOutput, error) {
	if err != nil {
		return nil, err
	}
	return &RunOutput{ETag: etag(run), Body: h.done(ctx, run)}, nil
}

// receipt returns the receipt of the run's submission, empty where there is none. The parent of a shard or a step was
// submitted for it.
func (h *handlers) receipt(ctx context.Context, run *runs.Run) (string, error) {
	if h.Trail == nil {
		return "", nil
	}
	id := run.ID
	if run.ParentID != "" {
		id = run.ParentID
	}
	r, ok, err := h.Trail.ReceiptOf(ctx, id)
	if err != nil || !ok {
		return "", err
	}
	return r.String(), nil
}

// done makes the answer to a change that was made. It stays one where the trail cannot be asked just then: an error would
// say that nothing was done.
func (h *handlers) done(ctx context.Context, run *runs.Run) RunBody {
	b := body(run, h.Clock.Now(), false)
	if receipt, err := h.receipt(ctx, run); err == nil {
		b.AuditReceipt = receipt
	}
	return b
}

func (h *handlers) cancel(ctx context.Context, in *IDInput) (*RunOutput, error) {
	run, err := h.Controller.Cancel(ctx, in.ID)
	return h.answer(ctx, run, err)
}

func (h *handlers) approve(ctx context.Context, in *DecideInput) (*RunOutput, error) {
	run, err := h.Approver.Approve(ctx, in.ID, in.reason())
	return h.answer(ctx, run, err)
}

func (h *handlers) reject(ctx context.Context, in *DecideInput) (*RunOutput, error) {
	run, err := h.Approver.Reject(ctx, in.ID, in.reason())
	return h.answer(ctx, run, err)
}

func (h *handlers) retry(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.Retry(ctx, in.ID)
	return h.created(ctx, run, false, err)
}

func (h *handlers) relaunch(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.RelaunchFailed(ctx, in.ID)
	return h.created(ctx, run, false, err)
}

func (h *handlers) rerun(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.Rerun(ctx, in.ID)
	return h.created(ctx, run, false, err)
}
