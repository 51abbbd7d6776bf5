package audit

import "github.com/writ-automation/writ/e2e/harness"

// model returns a language model that proposes a run.
func (w *fixture) model() *harness.Model {
	m := harness.NewModel(w.t)
	m.Say(`{"tool": "bash", "command": "true", "queue": "parked"}`)
	return m
}

// aiCalls prepares the operations of a language model.
func aiCalls() map[string]func(w *fixture) call {
	return map[string]func(w *fixture) call{
		"propose-run": func(*fixture) call {
			return call{path: "/v1/ai/propose-run", object: "run", body: harness.Body{"request": "do nothing"}}
		},
	}
}
