package relay

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

type handlers struct {
	Params
	router *httpapi.Router
}

// New returns the routes of the relay.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "relay", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, router: r}
		h.leasing(r)
		h.reporting(r)
		h.fetching(r)
		h.working(r)
	}}
}

const (
	tag     = "relay"
	runPath = "/relay/v1/runs/{id}"
)

// capabilitySize is the number of bytes in a capability.
const capabilitySize = 32

// Capability is the header of every call about a leased run.
type Capability struct {
	Secret secret.Text `header:"Relay-Capability" doc:"The capability that came with the claim. One that does not hold the run, or none, is 409."`
}

// leaseholder returns the proof that the caller holds a run. A malformed capability gets the same refusal as one that
// does not hold the run.
func (c *Capability) leaseholder(run string) (execution.Leaseholder, error) {
	return c.holderOf(ids.Run, run)
}

func (c *Capability) holderOf(kind ids.Prefix, id string) (execution.Leaseholder, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(c.Secret.Reveal())
	if err != nil || len(raw) != capabilitySize || !ids.Valid(kind, id) {
		return execution.Leaseholder{}, lost(nil)
	}
	return execution.Leaseholder{RunID: id, Capability: c.Secret}, nil
}

// lost returns the only refusal of a capability, so that guessing capabilities reveals no run ids.
func lost(cause error) error {
	return runs.LeaseLost.New("the capability does not hold this run").Because(cause)
}

// callerError returns the error of a call about a run in the form for the caller.
func callerError(err error) error {
	if runs.LeaseLost.Is(err) {
		return lost(err)
	}
	return err
}

// Held names a run that the caller holds. Inputs embed it.
type Held struct {
	ID string `path:"id"`
	Capability
}

// held makes a call about a run that the caller holds, and answers with its result.
func held[T any](in Held, call func(execution.Leaseholder) (T, error)) (*httpapi.Output[T], error) {
	leaseholder, err := in.leaseholder(in.ID)
	if err != nil {
		return nil, err
	}
	out, err := call(leaseholder)
	if err != nil {
		return nil, callerError(err)
	}
	return &httpapi.Output[T]{Body: out}, nil
}

// declare adds a call about a run: the route provides verb, id, summary and description.
func declare[I, O any](
	r *httpapi.Router, method, verb string, route httpapi.Route, f func(context.Context, *I) (*O, error),
) {
	declareAt(r, runPath, method, verb, route, f)
}

// declareAt adds a call about what a worker holds.
func declareAt[I, O any](
	r *httpapi.Router, path, method, verb string, route httpapi.Route, f func(context.Context, *I) (*O, error),
) {
	route.Method, route.Path, route.Tag, route.Access = method, path+verb, tag, httpapi.Worker()
	route.Report = method == http.MethodPost
	route.Status = cmp.Or(route.Status, http.StatusOK)
	if route.Report {
		route.Verbatim, route.MaxBody = true, cmp.Or(route.MaxBody, execution.RelayBody)
	}
	route.Errors = append(route.Errors, http.StatusConflict)
	httpapi.Handle(r, route, f)
}
