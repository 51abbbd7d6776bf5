package scheduling

import (
	"slices"

	"github.com/writ-automation/writ/ports/scheduling"
)

// unmasked restores the stored values in a target that a client sends back: a value [redacted] under a secret-looking
// name stands for the stored value.
func (b TargetBody) unmasked(stored scheduling.Target) (TargetBody, error) {
	if b.TemplateID != "" && b.TemplateID == stored.TemplateID {
		answers, err := rawAnswers(stored.Answers)
		if err != nil {
			return b, err
		}
		b.Answers = b.Answers.Restore(answers)
	}
	if b.Run != nil && stored.Run != nil {
		run := *b.Run
		run.ExtraVars = run.ExtraVars.Restore(stored.Run.ExtraVars)
		b.Run = &run
	}
	if b.Pipeline != nil && stored.Pipeline != nil {
		p := *b.Pipeline
		p.ExtraVars = p.ExtraVars.Restore(stored.Pipeline.ExtraVars)
		p.Steps = slices.Clone(p.Steps)
		for i := range p.Steps {
			step := &p.Steps[i]
			for _, was := range stored.Pipeline.Steps {
				if was.Name == step.Name {
					step.ExtraVars = step.ExtraVars.Restore(was.ExtraVars)
					step.Answers = step.Answers.Restore(was.Answers)
				}
			}
		}
		b.Pipeline = &p
	}
	return b, nil
}
