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
	Name       string            `json:"name" doc:"As it was given; the kind tells how the executor reaches the runs."`
	Kind       string            `json:"kind" enum:"server,worker,relay"`
	Queues     []string          `json:"queues" doc:"The list has the objects that the caller may read."`
	Executors  int               `json:"executors" doc:"Runs at once."`
	Running    int               `json:"running" doc:"Runs that it held when it reported last."`
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels,omitempty" doc:"What it says of itself."`
	Isolation  *IsolationBody    `json:"isolation,omitempty" doc:"What its runs get; absent if it did not tell."`
	LastSeenAt time.Time         `json:"last_seen_at"`
	Fresh      bool              `json:"fresh" doc:"It reported within the last 30 seconds."`
}

// IsolationBody describes how far an executor keeps its runs apart.
type IsolationBody struct {
	Level       string   `json:"level" enum:"namespaces,users,landlock,none"`
	Profile     string   `json:"profile"`
	LandlockABI int      `json:"landlock_abi" doc:"The version of landlock of its kernel; 0 is none."`
	Limits      []string `json:"limits" doc:"What is limited for each run."`
	Reason      string   `json:"reason,omitempty" doc:"Why the level is not a stronger one, and what to do about it."`
}

// WorkerList lists executors by name.
type WorkerList struct {
	Workers []WorkerBody `json:"workers"`
	httpapi.Listed
}

func workerList(rows []WorkerBody, l httpapi.Listed) WorkerList { return WorkerList{rows, l} }

// WorkersInput requests a page of the list.
type WorkersInput struct{ httpapi.Window }

const tag = "execution"

type handlers struct{ Params }

// New returns the routes of the execution context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "execution", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		h.tokens(r)
		h.queues(r)
		httpapi.HandleList(r, httpapi.Route{
			Method: http.MethodGet, Path: "/v1/workers", ID: "list-workers", Tag: tag,
			Summary: "List executors and how fresh they are",
			Description: "An executor reports every 10 seconds. One that ends in order leaves the list at once, one that was " +
				"lost after a day.",
			Access: httpapi.Needs("worker", "read"), Status: http.StatusOK, Errors: []int{http.StatusServiceUnavailable},
		}, workerList, body, func(ctx context.Context, in *WorkersInput) ([]execution.Worker, int, error) {
			return p.Fleet.Workers(ctx, in.Page())
		}, example())
	}}
}

func isolation(i execution.WorkerIsolation) *IsolationBody {
	if i.Level == "" {
		return nil
	}
	return &IsolationBody{
		Level: i.Level, Profile: i.Profile, LandlockABI: i.LandlockABI, Limits: append([]string{}, i.Limits...),
		Reason: i.Reason,
	}
}

func body(w execution.Worker) WorkerBody {
	return WorkerBody{
		Isolation: isolation(w.Isolation),
		Name:      execution.ShownName(w.Name), Kind: string(w.Kind), Queues: w.Queues, Executors: w.Executors,
		Running: w.Running, Version: w.Version,
		Labels: w.Labels, LastSeenAt: w.SeenAt, Fresh: w.Fresh,
	}
}

func example() WorkerBody {
	return WorkerBody{
		Name: "edge-1", Kind: "relay", Queues: []string{"default"}, Executors: 4, Running: 3, Version: "1.0.0",
		Labels: map[string]string{"site": "berlin"}, LastSeenAt: httpapi.ExampleTime(), Fresh: true,
		Isolation: &IsolationBody{Level: "namespaces", Profile: "standard", LandlockABI: 7, Limits: []string{"processes"}},
	}
}
