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

// ApproveBody is the reason of an approval, and whether it is about windows too.
type ApproveBody struct {
	ReasonBody
	OverrideWindows bool `json:"override_windows,omitempty" doc:"For administrators: the run may start whatever windows say. It is taken for a held run, and for a pending one that waits for a window."`
}

// ApproveInput approves a held run, or lets a run pass its windows; the body may be absent.
type ApproveInput struct {
	ID    string `path:"id"`
	Match string `header:"If-Match" doc:"The ETag of the held run that the decision is about, its approval_digest. The answer is 409 if something has changed since."`
	Body  *ApproveBody
}

// DecideInput decides a held run; the body may be absent.
type DecideInput struct {
	ID    string `path:"id"`
	Match string `header:"If-Match" doc:"The ETag of the held run that the decision is about, its approval_digest. The answer is 409 if something has changed since."`
	Body  *ReasonBody
}

func decision(match string, body *ReasonBody) runs.DecisionInput {
	d := runs.DecisionInput{Digest: strings.Trim(strings.TrimSpace(match), `"`)}
	if d.Digest == "*" {
		d.Digest = ""
	}
	if body != nil {
		d.Reason = body.Reason
	}
	return d
}

func (h *handlers) cancel(ctx context.Context, in *IDInput) (*httpapi.RunOutput, error) {
	run, err := h.Controller.Cancel(ctx, in.ID)
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) approve(ctx context.Context, in *ApproveInput) (*httpapi.RunOutput, error) {
	body := in.Body
	if body == nil {
		body = &ApproveBody{}
	}
	d := decision(in.Match, &body.ReasonBody)
	d.OverrideWindows = body.OverrideWindows
	run, err := h.Approver.Approve(ctx, in.ID, d)
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) reject(ctx context.Context, in *DecideInput) (*httpapi.RunOutput, error) {
	run, err := h.Approver.Reject(ctx, in.ID, decision(in.Match, in.Body))
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

func (h *handlers) preview(ctx context.Context, in *IDInput) (*httpapi.NewRunOutput, error) {
	run, again, err := h.Controller.Preview(ctx, in.ID)
	return h.answers.Created(ctx, run, again, err)
}

func (h *handlers) rerun(ctx context.Context, in *IDInput) (*httpapi.NewRunOutput, error) {
	run, err := h.Controller.Rerun(ctx, in.ID)
	return h.answers.Created(ctx, run, false, err)
}
