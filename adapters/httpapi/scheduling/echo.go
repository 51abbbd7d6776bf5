package scheduling

import (
	"bytes"
	"encoding/json"
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
		b.Answers = unredact(b.Answers, answers)
	}
	if b.Run != nil && stored.Run != nil {
		run := *b.Run
		run.ExtraVars = unredact(run.ExtraVars, stored.Run.ExtraVars)
		run.Notifications = known(run.Notifications, shown.Run.Notifications, stored.Run.Notifications)
		b.Run = &run
	}
	if b.Pipeline != nil && stored.Pipeline != nil {
		p := *b.Pipeline
		p.ExtraVars = unredact(p.ExtraVars, stored.Pipeline.ExtraVars)
		p.Notifications = known(p.Notifications, shown.Pipeline.Notifications, stored.Pipeline.Notifications)
		p.Steps = slices.Clone(p.Steps)
		for i := range p.Steps {
			step := &p.Steps[i]
			for _, was := range stored.Pipeline.Steps {
				if was.Name == step.Name {
					step.ExtraVars = unredact(step.ExtraVars, was.ExtraVars)
				}
			}
		}
		b.Pipeline = &p
	}
	return b, nil
}

// unredact returns given with the stored values where it holds none but says [redacted] as a reading does, at any depth.
func unredact(given, stored runs.Vars) runs.Vars {
	if len(given) == 0 || len(stored) == 0 {
		return given
	}
	out := make(runs.Vars, len(given))
	for name, raw := range given {
		out[name] = raw
		if was, ok := stored[name]; ok {
			out[name] = unredactValue(name, raw, was)
		}
	}
	return out
}

func unredactValue(name string, given, stored json.RawMessage) json.RawMessage {
	if runs.LooksSecret(name) {
		var text string
		if json.Unmarshal(given, &text) == nil && text == runs.Redacted {
			return stored
		}
		return given
	}
	if !bytes.Contains(given, []byte(runs.Redacted)) {
		return given
	}
	var members, were runs.Vars
	if json.Unmarshal(given, &members) == nil && json.Unmarshal(stored, &were) == nil {
		return encoded(unredact(members, were), given)
	}
	var list, was []json.RawMessage
	if json.Unmarshal(given, &list) != nil || json.Unmarshal(stored, &was) != nil || len(list) != len(was) {
		return given
	}
	for i := range list {
		list[i] = unredactValue("", list[i], was[i])
	}
	return encoded(list, given)
}

// encoded returns v as JSON, or what it was made of.
func encoded(v any, given json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return given
	}
	return raw
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
