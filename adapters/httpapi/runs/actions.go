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

func (h *handlers) answer(run *runs.Run, err error) (*RunOutput, error) {
	if err != nil {
		return nil, err
	}
	return &RunOutput{ETag: etag(run), Body: body(run, h.Clock.Now(), false)}, nil
}

func (h *handlers) cancel(ctx context.Context, in *IDInput) (*RunOutput, error) {
	return h.answer(h.Controller.Cancel(ctx, in.ID))
}

func (h *handlers) approve(ctx context.Context, in *DecideInput) (*RunOutput, error) {
	return h.answer(h.Approver.Approve(ctx, in.ID, in.reason()))
}

func (h *handlers) reject(ctx context.Context, in *DecideInput) (*RunOutput, error) {
	return h.answer(h.Approver.Reject(ctx, in.ID, in.reason()))
}

func (h *handlers) retry(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.Retry(ctx, in.ID)
	return h.created(run, false, err)
}

func (h *handlers) relaunch(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.RelaunchFailed(ctx, in.ID)
	return h.created(run, false, err)
}

func (h *handlers) rerun(ctx context.Context, in *IDInput) (*CreatedOutput, error) {
	run, err := h.Controller.Rerun(ctx, in.ID)
	return h.created(run, false, err)
}
