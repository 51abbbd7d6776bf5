package runs

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// IDInput names a run.
type IDInput struct {
	ID string `path:"id" example:"run_01k0a8bq3vtx5zk9w2m4n6p8rs"`
}

// ReasonBody is the reason of a decision on a held run.
type ReasonBody struct {
	Reason string `json:"reason,omitempty" maxLength:"2000"`
}

// DecideInput decides a held run; the body may be absent.
type DecideInput struct {
	ID    string `path:"id"`
	Match string `header:"If-Match" doc:"The ETag of the held run that the decision is about, its approval_digest. The answer is 409 if something has changed since."`
	Body  *ReasonBody
}

func (in *DecideInput) decision() runs.DecisionInput {
	d := runs.DecisionInput{Digest: strings.Trim(strings.TrimSpace(in.Match), `"`)}
	if d.Digest == "*" {
		d.Digest = ""
	}
	if in.Body != nil {
		d.Reason = in.Body.Reason
	}
	return d
}

func (h *handlers) cancel(ctx context.Context, in *IDInput) (*httpapi.RunOutput, error) {
	run, err := h.Controller.Cancel(ctx, in.ID)
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) approve(ctx context.Context, in *DecideInput) (*httpapi.RunOutput, error) {
	run, err := h.Approver.Approve(ctx, in.ID, in.decision())
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) reject(ctx context.Context, in *DecideInput) (*httpapi.RunOutput, error) {
	run, err := h.Approver.Reject(ctx, in.ID, in.decision())
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) retry(ctx context.Context, in *IDInput) (*httpapi.NewRunOutput, error) {
	run, err := h.Controller.Retry(ctx, in.ID)
	return h.answers.Created(ctx, run, false, err)
}

func (h *handlers) relaunch(ctx context.Context, in *IDInput) (*httpapi.NewRunOutput, error) {
	run, err := h.Controller.RelaunchFailed(ctx, in.ID)
	return h.answers.Created(ctx, run, false, err)
}

func (h *handlers) rerun(ctx context.Context, in *IDInput) (*httpapi.NewRunOutput, error) {
	run, err := h.Controller.Rerun(ctx, in.ID)
	return h.answers.Created(ctx, run, false, err)
}
