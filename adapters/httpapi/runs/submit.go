package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// SubmitInput carries a submission.
type SubmitInput struct {
	Key  string `header:"Idempotency-Key" doc:"At most 255 bytes; the same key and body within 24 hours answer with the first run."`
	Body httpapi.RunsSubmitBody
}

// PipelineInput carries a pipeline.
type PipelineInput struct {
	Key  string `header:"Idempotency-Key" doc:"At most 255 bytes; the same key and body within 24 hours answer with the first run."`
	Body httpapi.RunsPipelineBody
}

func (h *handlers) submit(ctx context.Context, in *SubmitInput) (*httpapi.NewRunOutput, error) {
	s := in.Body.Submission()
	var err error
	if s.Idempotency, err = httpapi.Idempotency(ctx, in.Key, "submit-run"); err != nil {
		return nil, err
	}
	run, replayed, err := h.Submitter.Submit(ctx, s)
	return h.answers.Created(ctx, run, replayed, err)
}

func (h *handlers) pipeline(ctx context.Context, in *PipelineInput) (*httpapi.NewRunOutput, error) {
	s := in.Body.Submission()
	var err error
	if s.Idempotency, err = httpapi.Idempotency(ctx, in.Key, "submit-pipeline"); err != nil {
		return nil, err
	}
	run, replayed, err := h.Submitter.SubmitPipeline(ctx, s)
	return h.answers.Created(ctx, run, replayed, err)
}
