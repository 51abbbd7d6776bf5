package scheduling

import (
	"slices"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// unmasked puts the stored values back into a target that a client sends as it read it: where it says [redacted] under a name that
// looks secret, or repeats a masked notification, it has never seen what it would replace.
func (b TargetBody) unmasked(stored scheduling.Target) (TargetBody, error) {
	shown, err := targetBody(stored)
	if err != nil {
		return b, err
	}
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
		run.Notifications = known(run.Notifications, shown.Run.Notifications, stored.Run.Notifications)
		b.Run = &run
	}
	if b.Pipeline != nil && stored.Pipeline != nil {
		p := *b.Pipeline
		p.ExtraVars = p.ExtraVars.Restore(stored.Pipeline.ExtraVars)
		p.Notifications = known(p.Notifications, shown.Pipeline.Notifications, stored.Pipeline.Notifications)
		p.Steps = slices.Clone(p.Steps)
		for i := range p.Steps {
			step := &p.Steps[i]
			for _, was := range stored.Pipeline.Steps {
				if was.Name == step.Name {
					step.ExtraVars = step.ExtraVars.Restore(was.ExtraVars)
				}
			}
		}
		b.Pipeline = &p
	}
	return b, nil
}

// known returns the given notifications with the stored address and key where they repeat what was shown of one. Each of those
// stands for one of the given at most, the one at the same place before any other.
func known(given, shown, stored []runs.Notification) []runs.Notification {
	echoes := func(n runs.Notification, i int) bool {
		return n.Kind == shown[i].Kind && n.URL == shown[i].URL && n.Key == shown[i].Key
	}
	used := make([]bool, len(shown))
	for i := range given {
		if i < len(shown) && echoes(given[i], i) {
			used[i] = true
		}
	}
	var out []runs.Notification
	for i, n := range given {
		from := -1
		if i < len(shown) && echoes(n, i) {
			from = i
		}
		for k := 0; k < len(shown) && from < 0; k++ {
			if !used[k] && echoes(n, k) {
				from, used[k] = k, true
			}
		}
		if from >= 0 {
			n.URL, n.Key = stored[from].URL, stored[from].Key
		}
		out = append(out, n)
	}
	return out
}
