package runs

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
)

type handlers struct {
	Params
	router  *httpapi.Router
	answers httpapi.RunAnswers
	texts   *rowTexts
}

// New returns the routes of the runs context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "runs", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, router: r, answers: httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock},
			texts: newRowTexts()}
		h.making(r)
		h.acting(r)
		h.moving(r)
		h.counting(r)
		h.readRoutes(r)
		h.following(r)
		h.living(r)
		if p.Plans != nil {
			h.planning(r)
		}
		if p.Insight != nil {
			h.explaining(r)
		}
	}}
}

const tag = "runs"

// The rights that the routes of runs require.
func read() httpapi.Access    { return httpapi.Needs("run", "read") }
func control() httpapi.Access { return httpapi.Needs("run", "control") }

func (h *handlers) making(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs", ID: "list-runs", Tag: tag, Summary: "List runs, newest first",
		Description: "Filters combine. A cursor stays correct while runs arrive, an offset does not. Lists have no " +
			"variables, logs and events.",
		Access: read(), Status: http.StatusOK, Example: exampleList(), Errors: []int{http.StatusServiceUnavailable},
	}, h.list)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/runs", ID: "submit-run", Tag: tag, Summary: "Submit a run",
		Description: "Answers once the run is stored: as pending, or as pending_approval if a rule holds it. Variables " +
			"are data and never templated.",
		Access: httpapi.Needs("run", "submit"), Action: audit.RunSubmit, Status: http.StatusCreated,
		Example: exampleRun(), Request: exampleSubmit(),
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, h.submit)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/pipelines", ID: "submit-pipeline", Tag: tag,
		Description: "The first steps are queued with the answer, unless a rule holds the pipeline. Outputs of a step " +
			"reach those that depend on it as variables.",
		Summary: "Submit steps as one pipeline", Access: httpapi.Needs("pipeline", "submit"), Action: audit.RunSubmit,
		Status:  http.StatusCreated,
		Example: examplePipelineRun(), Request: examplePipeline(),
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, h.pipeline)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}", ID: "get-run", Tag: tag, Summary: "Read one run", Access: read(),
		Description: "Values that look secret are redacted. The ETag changes with the record.",
		Status:      http.StatusOK, Example: exampleRun(), Errors: []int{http.StatusNotFound},
	}, h.get)
}

// act declares an action on a run. The route provides id, summary, access, status and audit action.
func act[I, O any](r *httpapi.Router, verb string, route httpapi.Route, f func(context.Context, *I) (*O, error)) {
	route.Method, route.Path, route.Tag, route.Example = http.MethodPost, "/v1/runs/{id}/"+verb, tag, exampleRun()
	route.Errors = []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}
	httpapi.Handle(r, route, f)
}

func (h *handlers) acting(r *httpapi.Router) {
	approve := httpapi.Needs("run", "approve")
	reason := ReasonBody{Reason: "checked with the owner"}
	act(r, "cancel", httpapi.Route{
		ID: "cancel-run", Summary: "Cancel a held, pending or running run", Access: control(), Action: audit.RunCancel,
		Status: http.StatusOK,
		Description: "A held or pending run ends at once; for a running one the end of its process tree is requested. " +
			"It may be repeated.",
	}, h.cancel)
	act(r, "approve", httpapi.Route{
		ID: "approve-run", Summary: "Approve a held run", Access: approve, Action: audit.RunApprove, Status: http.StatusOK,
		Request: reason,
		Description: "The last approval that is needed queues the run. Administrators decide, or the members of the teams " +
			"that its holds name. If-Match takes the ETag of the held run, which is its approval_digest. The answer is " +
			"approval_stale if the run would execute something else now, and without If-Match if its changed is not empty.",
	}, h.approve)
	act(r, "reject", httpapi.Route{
		ID: "reject-run", Summary: "Reject a held run", Access: approve, Action: audit.RunReject, Status: http.StatusOK,
		Request: reason,
		Description: "The run ends as rejected, with the reason in its record. One account suffices. Who decides, and " +
			"If-Match, are as for approve.",
	}, h.reject)
	act(r, "preview", httpapi.Route{
		ID: "preview-run", Summary: "Make a dry run of a held run", Access: control(), Action: audit.RunRerun,
		Status: http.StatusCreated,
		Description: "For administrators and whoever asked for the run. The record of the held run shows the findings as " +
			"preview. The dry run executes what the held run would execute now, or fails. While an earlier one has not " +
			"ended, the answer is that one, with Idempotent-Replay. Policies hold and deny it as any dry run.",
	}, h.preview)
	act(r, "retry", httpapi.Route{
		ID: "retry-run", Summary: "Retry the failed shards of a finished split", Access: control(), Action: audit.RunRetry,
		Description: "The hosts of the shards that succeeded are not changed. Only a split that has ended can be retried.",
		Status:      http.StatusCreated,
	}, h.retry)
	act(r, "relaunch-failed", httpapi.Route{
		ID: "relaunch-failed", Summary: "Run again on the hosts left failed or unreachable", Access: control(),
		Action:      audit.RunRelaunch,
		Description: "A new run with the same settings on only those hosts. The answer is a conflict if there are none.",
		Status:      http.StatusCreated,
	}, h.relaunch)
	act(r, "rerun", httpapi.Route{
		ID: "rerun-run", Summary: "Submit a fresh run with this run's settings", Access: control(), Action: audit.RunRerun,
		Description: "It passes the rights and rules of a new request by the caller.",
		Status:      http.StatusCreated,
	}, h.rerun)
}

// part declares an operation that reads a part of a run. The route provides id, summary, description and example.
func part[I, O any](r *httpapi.Router, path string, route httpapi.Route, f func(context.Context, *I) (*O, error)) {
	route.Method, route.Path, route.Tag, route.Access, route.Status = http.MethodGet, "/v1/runs/{id}/"+path, tag, read(),
		http.StatusOK
	route.Errors = []int{http.StatusNotFound}
	httpapi.Handle(r, route, f)
}

func (h *handlers) readRoutes(r *httpapi.Router) {
	part(r, "shards", httpapi.Route{
		ID: "list-shards", Summary: "List the shard runs of a split",
		Description: "Each is a run of its own, with the hosts that it is bound to.",
		Example:     exampleShards(),
	}, h.shards)
	part(r, "steps", httpapi.Route{
		ID: "list-steps", Summary: "List the step runs of a pipeline that exist",
		Description: "A step that was skipped or has not begun has no run; the pipeline's record names all steps.",
		Example:     exampleSteps(),
	}, h.steps)
	part(r, "hosts", httpapi.Route{
		ID: "list-run-hosts", Summary: "Read a run's results on each host",
		Description: "One row a host, with how often each outcome occurred and the worst of them.",
		Example:     exampleHosts(),
	}, h.hosts)
	part(r, "tasks", httpapi.Route{
		ID: "list-run-tasks", Summary: "Read a run's results in each task",
		Description: "One row a task, with its outcomes over all hosts and how long it took.",
		Example:     exampleTasks(),
	}, h.tasks)
	part(r, "compare", httpapi.Route{
		ID: "compare-runs", Summary: "Compare a run with a baseline",
		Description: "with names the baseline, a run's id or prev for the one before of the same source. Without a " +
			"baseline it is 404 with no_baseline.",
		Example: exampleCompare(),
	}, h.compare)
	part(r, "events", httpapi.Route{
		ID: "list-events", Summary: "Read or download a run's events",
		Description: "In order, without gaps. after names the last one that the client has; next_after is the value for " +
			"the next request.",
		Example: exampleEvents(),
	}, h.events)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/logs", ID: "read-log", Tag: tag, Summary: "Read a run's output",
		Description: "Streamed as plain text. If output was dropped, Service-Log-Truncated is 1 and " +
			"Service-Log-Omitted-Bytes " +
			"counts it. One range of bytes answers 206. With line, Service-Log-Line has the number of the first line of " +
			"the answer, Service-Log-Offset its first byte, Service-Log-Next the byte after the answer, and Service-Log-Lines " +
			"the number of all lines, if it is known already. If an answer fails midway, it ends with a line of " +
			"export_incomplete and reason.",
		Access: read(), Status: http.StatusOK, Produces: "text/plain", Example: "PLAY [all]\n",
		Errors: []int{http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable},
	}, h.logs)
}

func (h *handlers) following(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/runs/{id}/stream-ticket", ID: "mint-stream-ticket", Tag: tag,
		Description: "For clients that cannot send a header, such as EventSource. It is good once, for this run, for a " +
			"short time.",
		Summary: "Create a single-use ticket for a run's live stream", Access: read(), Harmless: true,
		Status:  http.StatusOK,
		Example: TicketBody{Ticket: "<STREAM_TICKET>", ExpiresIn: 30}, Errors: []int{http.StatusNotFound},
	}, h.mint)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/stream", ID: "follow-run", Tag: tag,
		Summary: "Follow a run over Server-Sent Events",
		Description: "Events: run (the record, first, at each status, and when a step of a pipeline gets another status or " +
			"run), event (its id is the sequence number), log (offset and text), matrix and end; a comment " +
			"every 15 seconds. A reader that does not keep up is dropped and resumes with after and log_offset.\n\n" + deltaForm,
		Access: read().OrTicket(h.redeem), Status: http.StatusOK, Produces: "text/event-stream",
		Example: "event: log\ndata: {\"offset\":0,\"text\":\"PLAY [all]\\n\"}\n\n",
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, h.stream)
}
