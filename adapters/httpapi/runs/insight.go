package runs

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// whyForm lists the codes of an explanation.
const whyForm = "Codes of a run that has not ended: held_for_approval, changed_while_held, refreshing, no_executor, " +
	"executors_busy, waiting_for_executor, waiting_for_children, claimed, executing, cancel_requested, window, " +
	"busy_template, busy_inventory, busy_queue, locked, hosts_busy, and for the " +
	"steps of a pipeline step_waiting and step_retried. For a run that has ended, the code is its status, with " +
	"step_skipped for each step of a pipeline that started no run. `object` is what the reason is about: a queue, a " +
	"policy, a worker, an account, a run or a step. `next` names the next event and is absent if there is none."

// Bounds of a search in a log.
const (
	defaultHits = 100
	maxHits     = 1000
)

// FailureBody is a failure that several hosts share.
type FailureBody struct {
	Task    string   `json:"task"`
	Message string   `json:"message"`
	Outcome string   `json:"outcome" doc:"failed, unreachable, rescued or ignored."`
	Count   int      `json:"count"`
	Hosts   []string `json:"hosts" doc:"The first twenty."`
}

// FailuresBody lists the groups: failed, then rescued, then ignored failures, the largest group first.
type FailuresBody struct {
	Groups []FailureBody `json:"groups"`
	Count  int           `json:"count"`
	Total  int           `json:"total"`
}

func failuresBody(groups []runs.FailureGroup) FailuresBody {
	rows := httpapi.Rows(groups, func(g runs.FailureGroup) FailureBody {
		return FailureBody{
			Task: g.Task, Message: g.Message, Outcome: string(g.Outcome), Count: g.Count, Hosts: append([]string{}, g.Hosts...),
		}
	})
	return FailuresBody{Groups: rows, Count: len(rows), Total: len(rows)}
}

func (h *handlers) failures(ctx context.Context, in *IDInput) (*httpapi.Output[FailuresBody], error) {
	return httpapi.Show(failuresBody)(h.Insight.Failures(ctx, in.ID))
}

// FindInput searches a log.
type FindInput struct {
	ID    string         `path:"id"`
	Q     string         `query:"q" required:"true" minLength:"1" maxLength:"1000" doc:"The text, or an RE2 expression with regex=1."`
	Case  httpapi.Switch `query:"case" doc:"1 matches letters only in their own case."`
	Regex httpapi.Switch `query:"regex" doc:"1 reads q as an RE2 expression."`
	Limit httpapi.Count  `query:"limit" doc:"Hits: 100 unless given, at most 1000."`
}

// HitBody is a line found.
type HitBody struct {
	Line   int64  `json:"line"`
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

// HitsBody lists the lines found.
type HitsBody struct {
	Total int       `json:"total"`
	Count int       `json:"count"`
	Hits  []HitBody `json:"hits"`
	Limit int       `json:"limit" doc:"The limit that was used."`
}

func (h *handlers) find(ctx context.Context, in *FindInput) (*httpapi.Output[HitsBody], error) {
	q := runs.LogQuery{Text: in.Q, Case: in.Case.On(), Regex: in.Regex.On(), Limit: in.Limit.Clamp(defaultHits, maxHits)}
	return httpapi.Show(func(found *runs.LogHits) HitsBody {
		rows := httpapi.Rows(found.Hits, func(hit runs.LogHit) HitBody { return HitBody(hit) })
		return HitsBody{Total: found.Total, Count: len(rows), Hits: rows, Limit: q.Limit}
	})(h.Insight.Find(ctx, in.ID, q))
}

// WhyBody explains the state of a run.
type WhyBody struct {
	State   string               `json:"state"`
	Reasons []httpapi.ReasonBody `json:"reasons"`
}

func whyBody(e *runs.Explanation) WhyBody {
	return WhyBody{State: string(e.State), Reasons: httpapi.ReasonRows(e.Reasons)}
}

func (h *handlers) why(ctx context.Context, in *IDInput) (*httpapi.Output[WhyBody], error) {
	return httpapi.Show(whyBody)(h.Insight.Why(ctx, in.ID))
}

func (h *handlers) explaining(r *httpapi.Router) {
	since := httpapi.ExampleTime()
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/matrix", ID: "get-run-matrix", Tag: tag,
		Summary: "Read a run's hosts against its tasks", Description: matrixForm, Access: read(), Status: http.StatusOK,
		Example: MatrixBody{
			Tasks: []MatrixTaskBody{{ID: "t1", Name: "Install packages", Play: "all"}}, Hosts: 2, Rev: 27,
			Names: []string{"web1", "web2"},
			Cells: []byte{2, 2},
		},
		Errors: []int{http.StatusNotFound},
	}, h.matrix)
	part(r, "failures", httpapi.Route{
		ID: "list-failures", Summary: "Group a run's failures by message",
		Description: "Messages that differ only by names of hosts, digits and paths are one group.",
		Example: FailuresBody{
			Groups: []FailureBody{{Task: "Install packages", Message: "No package matching 'ngnix'",
				Outcome: string(runs.HostFailed), Count: 2, Hosts: []string{"web1", "web2"}}},
			Count: 1, Total: 1,
		},
	}, h.failures)
	part(r, "logs/find", httpapi.Route{
		ID: "find-in-log", Summary: "Search a run's output",
		Description: "A plain text, or with regex an expression of RE2. Lines and byte offsets lead into the log.",
		Example: HitsBody{
			Total: 1, Count: 1, Hits: []HitBody{{Line: 12, Offset: 403, Text: "fatal: [web1]: FAILED!"}}, Limit: defaultHits,
		},
	}, h.find)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/why", ID: "explain-state", Tag: tag,
		Summary: "Explain why a run waits, is held or ended as it did", Description: whyForm, Access: read(),
		Status: http.StatusOK,
		Example: WhyBody{State: string(runs.PendingApproval), Reasons: []httpapi.ReasonBody{{
			Code: "held_for_approval", Text: "the run was submitted with require_approval, which holds it for approval",
			Object: "require_approval",
			Since:  &since, Next: "an administrator approves or rejects the run",
		}}},
		Errors: []int{http.StatusNotFound},
	}, h.why)
}
