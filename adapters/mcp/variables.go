package mcp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// question is a question of a survey.
type question struct {
	Var     string `json:"var"`
	Default any    `json:"default"`
}

// differing returns the name of a variable that a dry run had otherwise than the launch would have it now, empty for
// none. A value that the API hides counts as the same.
func differing(t *template, in *launchInput, dry runs.Vars) (string, error) {
	answers := map[string]any{}
	for _, q := range t.Survey {
		if q.Default != nil {
			answers[q.Var] = q.Default
		}
	}
	maps.DeleteFunc(in.Answers, func(_ string, v any) bool { return v == nil }) // no answer
	maps.Copy(answers, in.Answers)
	launch := maps.Clone(t.ExtraVars)
	if launch == nil {
		launch = runs.Vars{}
	}
	for _, values := range []map[string]any{answers, in.ExtraVars} {
		for name, v := range values {
			raw, err := json.Marshal(v)
			if err != nil {
				return "", err //nolint:wrapcheck // the caller names the launch
			}
			launch[name] = raw
		}
	}
	launch = launch.Redact()
	names := slices.AppendSeq(slices.Collect(maps.Keys(launch)), maps.Keys(dry))
	for _, name := range slices.Sorted(slices.Values(names)) {
		same, err := equal(launch[name], dry[name])
		if err != nil || !same {
			return name, err
		}
	}
	return "", nil
}

// equal reports whether two values of a variable are the same JSON, or one has a hidden part.
func equal(a, b json.RawMessage) (bool, error) {
	if strings.Contains(string(a), runs.Redacted) || strings.Contains(string(b), runs.Redacted) {
		return true, nil
	}
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	var x, y any
	if err := decode(a, &x); err != nil {
		return false, err
	}
	if err := decode(b, &y); err != nil {
		return false, err
	}
	return reflect.DeepEqual(x, y), nil
}
