package scheduling

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// TargetBody is the target of a schedule: a template, a run or a pipeline.
type TargetBody struct {
	TemplateID string                    `json:"template_id,omitempty" doc:"The template to launch."`
	Answers    runs.Vars                 `json:"answers,omitempty" doc:"Of the template's survey. Those whose name looks secret read back as [redacted]."`
	Run        *httpapi.RunsSubmitBody   `json:"run,omitempty" doc:"A run as POST /v1/runs takes it."`
	Pipeline   *httpapi.RunsPipelineBody `json:"pipeline,omitempty" doc:"A pipeline as POST /v1/pipelines takes it."`

	RequireApproval bool `json:"require_approval,omitempty" doc:"It holds every run of the schedule."`
	DryRun          bool `json:"dry_run,omitempty" doc:"It makes every run of the schedule a dry run, whatever its target says."`
}

// target returns the target. The body must hold exactly one of the three.
func (b *TargetBody) target() (scheduling.Target, error) {
	named := 0
	for _, is := range []bool{b.TemplateID != "", b.Run != nil, b.Pipeline != nil} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return scheduling.Target{}, fault.BadField("template_id",
			"exactly one of template_id, run and pipeline is required")
	case len(b.Answers) > 0 && b.TemplateID == "":
		return scheduling.Target{}, fault.BadField("answers", "are only for a template")
	}
	answers, err := answersOf(b.Answers)
	if err != nil {
		return scheduling.Target{}, err
	}
	t := scheduling.Target{TemplateID: b.TemplateID, Answers: answers, RequireApproval: b.RequireApproval,
		DryRun: b.DryRun}
	if b.Run != nil {
		s := b.Run.Submission()
		t.Run = &s
	}
	if b.Pipeline != nil {
		s := b.Pipeline.Submission()
		t.Pipeline = &s
	}
	return t, nil
}

// targetBody returns a target for reading, with secrets masked.
func targetBody(t scheduling.Target) (TargetBody, error) {
	raw, err := rawAnswers(t.Answers)
	if err != nil {
		return TargetBody{}, err
	}
	b := TargetBody{TemplateID: t.TemplateID, Answers: raw.Redact(), RequireApproval: t.RequireApproval,
		DryRun: t.DryRun}
	if t.Run != nil {
		s := httpapi.RedactedSubmission(t.Run)
		b.Run = &s
	}
	if t.Pipeline != nil {
		s := httpapi.RedactedPipeline(t.Pipeline)
		b.Pipeline = &s
	}
	return b, nil
}

// answersOf converts answers without losing digits of numbers.
func answersOf(v runs.Vars) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	out := make(map[string]any, len(v))
	for name, raw := range v {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var x any
		if err := d.Decode(&x); err != nil {
			return nil, fault.BadField("answers", "are not JSON")
		}
		out[name] = x
	}
	return out, nil
}

func rawAnswers(m map[string]any) (runs.Vars, error) {
	if m == nil {
		return nil, nil
	}
	out := make(runs.Vars, len(m))
	for name, x := range m {
		raw, err := json.Marshal(x)
		if err != nil {
			return nil, fmt.Errorf("write the answers of a schedule: %w", err)
		}
		out[name] = raw
	}
	return out, nil
}
