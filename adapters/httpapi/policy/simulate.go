package policy

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/policy"
)

// SimulateBody is a draft of a policy with the time for which it is tried.
type SimulateBody struct {
	Policy Fields     `json:"policy"`
	From   *time.Time `json:"from,omitempty" doc:"Runs that were created since; 30 days before to if absent."`
	To     *time.Time `json:"to,omitempty" doc:"Runs that were created before; now if absent."`
}

// SimulationBody says what a draft would have done.
type SimulationBody struct {
	From       time.Time      `json:"from"`
	To         time.Time      `json:"to"`
	Scanned    int            `json:"scanned" doc:"The runs and pipelines that were compared with the draft."`
	Matched    int            `json:"matched"`
	Held       int            `json:"held"`
	Denied     int            `json:"denied"`
	ByActor    map[string]int `json:"by_actor" doc:"How many matched, by the id of the account, or by system for what has none."`
	ByTemplate map[string]int `json:"by_template" doc:"How many matched, by the id of the template; runs without one are left out."`
	Sample     []string       `json:"sample" doc:"The newest runs that matched, at most 20."`
	Truncated  bool           `json:"truncated" doc:"There are more runs. Only the newest were compared: at most 100000, and of pipelines 5000."`
}

func simulation(s policy.Simulation) SimulationBody {
	return SimulationBody{From: s.From, To: s.To, Scanned: s.Scanned, Matched: s.Matched, Held: s.Held, Denied: s.Denied,
		ByActor: s.ByActor, ByTemplate: s.ByTemplate, Sample: append([]string{}, s.Sample...), Truncated: s.Truncated}
}

func (h *handlers) simulate(r *httpapi.Router) {
	to := httpapi.ExampleTime()
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/policies/simulate", ID: "simulate-policy", Tag: "policy",
		Summary: "Try a draft of a policy on runs of the past",
		Description: "It says which runs the draft would have held or denied, as if it were enabled. It stores nothing and " +
			"needs no licence. The hosts of a run are those that it touched; those of a run that did not end are not known.",
		Access: httpapi.Needs("policy", "write"), Status: http.StatusOK, Harmless: true,
		Request: SimulateBody{Policy: exampleFields()},
		Example: SimulationBody{From: to.AddDate(0, 0, -policy.SimulatedDays), To: to, Scanned: 120, Matched: 2, Held: 2,
			ByActor:    map[string]int{"usr_01k0a0009vtx5zk9w2m4n6p8rs": 2},
			ByTemplate: map[string]int{"tpl_01k0a0009vtx5zk9w2m4n6p8rs": 1},
			Sample:     []string{"run_01k0a0009vtx5zk9w2m4n6p8rs", "run_01k0a0009vtx5zk9w2m4n6p8rt"}},
		Errors: []int{http.StatusBadRequest, http.StatusNotFound},
	}, func(ctx context.Context, in *SimulateInput) (*httpapi.Output[SimulationBody], error) {
		b := &in.Body
		return httpapi.Show(simulation)(h.Policies.Simulate(ctx, b.Policy.policy(), timeOf(b.From), timeOf(b.To)))
	})
}

// SimulateInput is a request to try a draft.
type SimulateInput struct {
	Body SimulateBody
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
