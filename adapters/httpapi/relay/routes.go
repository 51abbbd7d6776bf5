package relay

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// Params are the driving ports behind the routes.
type Params struct {
	Relay     execution.Relay
	Journal   execution.RelayJournal
	Materials execution.RelayMaterials
}

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
	}}
}

const (
	tag     = "relay"
	runPath = "/relay/v1/runs/{id}"
)

// capabilitySize is how many bytes a capability has.
const capabilitySize = 32

// Capability is the header of every call about a run that is held.
type Capability struct {
	Secret secret.Text `header:"Relay-Capability" doc:"The capability that came with the claim. One that does not hold the run, or none, is 409."`
}

// leaseholder returns the proof that a run is held. What cannot be one is refused like one that does not hold the run.
func (c *Capability) leaseholder(run string) (execution.Leaseholder, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(c.Secret.Reveal())
	if err != nil || len(raw) != capabilitySize || !ids.Valid(ids.Run, run) {
		return execution.Leaseholder{}, lost(nil)
	}
	return execution.Leaseholder{RunID: run, Capability: c.Secret}, nil
}

// lost is the one refusal of a capability: who tries several learns nothing of the runs that there are.
func lost(cause error) error {
	return runs.LeaseLost.New("the capability does not hold this run").Because(cause)
}

// callerError returns the error of a call about a run as its caller is told of it.
func callerError(err error) error {
	if runs.LeaseLost.Is(err) {
		return lost(err)
	}
	return err
}

// Held names a run that the caller holds. Embed it in the input.
type Held struct {
	ID string `path:"id"`
	Capability
}

// NoOutput answers with nothing.
type NoOutput struct{}

// declare adds a call about a run: verb, id, summary and description are the route's own.
func declare[I, O any](r *httpapi.Router, method, verb string, route httpapi.Route, f func(context.Context, *I) (*O, error)) {
	route.Method, route.Path, route.Tag, route.Access = method, runPath+verb, tag, httpapi.Worker()
	route.Report = method == http.MethodPost
	if route.Status == 0 {
		route.Status = http.StatusOK
	}
	if route.Report {
		route.Verbatim, route.MaxBody = true, execution.RelayBody
	}
	route.Errors = append(route.Errors, http.StatusConflict)
	httpapi.Handle(r, route, f)
}
