package runs

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// Params are the driving ports behind the routes.
type Params struct {
	Submitter  runs.Submitter
	Controller runs.Controller
	Approver   runs.Approver
	Reader     runs.Reader
	Streamer   runs.Streamer
	Tickets    runs.Tickets
	Insight    runs.Insight // nil leaves its routes out
	Trail      audit.Trail  // nil leaves audit_receipt out
	Clock      clock.Clock
	// Heartbeat is how often a silent stream shows that it lives; 0 means 15 seconds.
	Heartbeat time.Duration
}

type handlers struct {
	Params
	router  *httpapi.Router
	answers httpapi.RunAnswers
}

// New returns the routes of the runs context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "runs", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, router: r, answers: httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock}}
		h.making(r)
		h.acting(r)
		h.reading(r)
		h.following(r)
		if p.Insight != nil {
			h.explaining(r)
		}
	}}
}

const tag = "runs"

// The rights that runs ask for.
func read() httpapi.Access    { return httpapi.Needs("run", "read") }
func control() httpapi.Access { return httpapi.Needs("run", "control") }

func (h *handlers) making(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs", ID: "list-runs", Tag: tag, Summary: "List runs, newest first",
		Access: read(), Status: http.StatusOK, Example: exampleList(), Errors: []int{http.StatusServiceUnavailable},
	}, h.list)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/runs", ID: "submit-run", Tag: tag, Summary: "Submit a run",
		Access: httpapi.Needs("run", "submit"), Action: audit.RunSubmit, Status: http.StatusCreated, Example: exampleRun(), Request: exampleSubmit(),
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, h.submit)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/pipelines", ID: "submit-pipeline", Tag: tag,
		Summary: "Submit steps as one pipeline", Access: httpapi.Needs("pipeline", "submit"), Action: audit.RunSubmit, Status: http.StatusCreated,
		Example: examplePipelineRun(), Request: examplePipeline(),
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, h.pipeline)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}", ID: "get-run", Tag: tag, Summary: "Read one run", Access: read(),
		Status: http.StatusOK, Example: exampleRun(), Errors: []int{http.StatusNotFound},
	}, h.get)
}

// act declares an action on a run: verb, id, summary, access, status and what the trail calls it are the route's own.
func act[I, O any](r *httpapi.Router, verb string, route httpapi.Route, f func(context.Context, *I) (*O, error)) {
	route.Method, route.Path, route.Tag, route.Example = http.MethodPost, "/v1/runs/{id}/"+verb, tag, exampleRun()
	route.Errors = []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}
	httpapi.Handle(r, route, f)
}

func (h *handlers) acting(r *httpapi.Router) {
	approve := httpapi.Needs("run", "approve")
	reason := ReasonBody{Reason: "checked with the owner"}
	act(r, "cancel", httpapi.Route{
		ID: "cancel-run", Summary: "Cancel a held, pending or running run", Access: control(), Action: audit.RunCancel, Status: http.StatusOK,
	}, h.cancel)
	act(r, "approve", httpapi.Route{
		ID: "approve-run", Summary: "Release a held run", Access: approve, Action: audit.RunApprove, Status: http.StatusOK, Request: reason,
	}, h.approve)
	act(r, "reject", httpapi.Route{
		ID: "reject-run", Summary: "Deny a held run", Access: approve, Action: audit.RunReject, Status: http.StatusOK, Request: reason,
	}, h.reject)
	act(r, "retry", httpapi.Route{
		ID: "retry-run", Summary: "Split the failed shards of a finished split anew", Access: control(), Action: audit.RunRetry,
		Status: http.StatusCreated,
	}, h.retry)
	act(r, "relaunch-failed", httpapi.Route{
		ID: "relaunch-failed", Summary: "Run again on the hosts left failed or unreachable", Access: control(), Action: audit.RunRelaunch,
		Status: http.StatusCreated,
	}, h.relaunch)
	act(r, "rerun", httpapi.Route{
		ID: "rerun-run", Summary: "Submit a fresh run with this run's settings", Access: control(), Action: audit.RunRerun,
		Status: http.StatusCreated,
	}, h.rerun)
}

// part declares a reading of a part of a run.
func part[I, O any](r *httpapi.Router, path, id, summary string, example any, f func(context.Context, *I) (*O, error)) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/" + path, ID: id, Tag: tag, Summary: summary, Access: read(),
		Status: http.StatusOK, Example: example, Errors: []int{http.StatusNotFound},
	}, f)
}

func (h *handlers) reading(r *httpapi.Router) {
	part(r, "shards", "list-shards", "List the shard runs of a split", exampleShards(), h.shards)
	part(r, "steps", "list-steps", "List the step runs of a pipeline that exist", exampleSteps(), h.steps)
	part(r, "hosts", "list-run-hosts", "Sum up what a run did on each host", exampleHosts(), h.hosts)
	part(r, "tasks", "list-run-tasks", "Sum up what a run did in each task", exampleTasks(), h.tasks)
	part(r, "compare", "compare-runs", "Hold a run against a baseline", exampleCompare(), h.compare)
	part(r, "events", "list-events", "Read or download a run's events", exampleEvents(), h.events)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/logs", ID: "read-log", Tag: tag, Summary: "Read a run's output",
		Description: "Streamed as plain text. Where output was dropped, Service-Log-Truncated is 1 and Service-Log-Omitted-Bytes " +
			"counts it. One range of bytes answers 206. An answer that breaks off ends with a line of export_incomplete and reason.",
		Access: read(), Status: http.StatusOK, Produces: "text/plain", Example: "PLAY [all]\n",
		Errors: []int{http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable},
	}, h.logs)
}

func (h *handlers) following(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/runs/{id}/stream-ticket", ID: "mint-stream-ticket", Tag: tag,
		Summary: "Mint a single-use ticket for a run's live stream", Access: read(), Harmless: true, Status: http.StatusOK,
		Example: TicketBody{Ticket: "<STREAM_TICKET>", ExpiresIn: 30}, Errors: []int{http.StatusNotFound},
	}, h.mint)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/stream", ID: "follow-run", Tag: tag,
		Summary: "Follow a run over Server-Sent Events",
		Description: "Events: run (the record, first and at each status), event (its id is the sequence number), log (offset and " +
			"text), matrix and end; a comment every 15 seconds. A reader that does not keep up is dropped and resumes with after " +
			"and log_offset.\n\n" + deltaForm,
		Access: read().OrTicket(h.redeem), Status: http.StatusOK, Produces: "text/event-stream",
		Example: "event: log\ndata: {\"offset\":0,\"text\":\"PLAY [all]\\n\"}\n\n",
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, h.stream)
}
