// Package execution serves the list of executors and the tokens of workers.
package execution

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// WorkerBody describes an executor.
type WorkerBody struct {
	Name       string            `json:"name" doc:"One that begins with relay/ came over the relay."`
	Kind       string            `json:"kind" enum:"server,worker,relay"`
	Queues     []string          `json:"queues" doc:"Those that the caller may read."`
	Executors  int               `json:"executors" doc:"Runs at once."`
	Running    int               `json:"running" doc:"Runs that it held when it reported last."`
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels,omitempty" doc:"What it says of itself."`
	LastSeenAt time.Time         `json:"last_seen_at"`
	Fresh      bool              `json:"fresh" doc:"It reported within the last 30 seconds."`
}

// WorkerList lists executors by name.
type WorkerList struct {
	Workers []WorkerBody `json:"workers"`
	httpapi.Listed
}

// WorkersInput requests a page of the list.
type WorkersInput struct{ httpapi.Window }

// WorkersOutput returns executors.
type WorkersOutput struct{ Body WorkerList }

const tag = "execution"

// Params are the driving ports behind the routes.
type Params struct {
	Fleet  execution.Fleet
	Tokens execution.WorkerTokens
}

type handlers struct{ Params }

// New returns the routes of the execution context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "execution", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		h.minting(r)
		httpapi.Handle(r, httpapi.Route{
			Method: http.MethodGet, Path: "/v1/workers", ID: "list-workers", Tag: tag,
			Summary:     "List executors and how fresh they are",
			Description: "An executor reports every 10 seconds. One that ends in order leaves the list at once, one that was lost after a day.",
			Access:      httpapi.Needs("worker", "read"), Status: http.StatusOK, Example: example(),
			Errors: []int{http.StatusServiceUnavailable},
		}, func(ctx context.Context, in *WorkersInput) (*WorkersOutput, error) {
			list, total, err := p.Fleet.Workers(ctx, in.Page())
			if err != nil {
				return nil, err
			}
			rows, listed := httpapi.List(list, total, in.Window, body)
			return &WorkersOutput{Body: WorkerList{Workers: rows, Listed: listed}}, nil
		})
	}}
}

func body(w execution.Worker) WorkerBody {
	return WorkerBody{
		Name: w.Name, Kind: string(w.Kind), Queues: w.Queues, Executors: w.Executors, Running: w.Running, Version: w.Version,
		Labels: w.Labels, LastSeenAt: w.SeenAt, Fresh: w.Fresh,
	}
}

func example() WorkerList {
	return WorkerList{
		Workers: []WorkerBody{{
			Name: "relay/edge-1", Kind: "relay", Queues: []string{"default"}, Executors: 4, Running: 3, Version: "1.0.0",
			Labels: map[string]string{"site": "berlin"}, LastSeenAt: time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC),
			Fresh: true,
		}},
		Listed: httpapi.Listed{Count: 1, Total: 1, Limit: 1000},
	}
}
