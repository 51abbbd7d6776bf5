package relay

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// SaveInput changes the state of a run.
type SaveInput struct {
	Held
	Body execution.RelaySave
}

// DivisionInput divides a split.
type DivisionInput struct {
	Held
	Body execution.RelayDivision
}

// LogBody is an execution.RelayLog whose data is decoded by the handler, which reports the position of an error.
type LogBody struct {
	Offset int64  `json:"offset"`
	Data   string `json:"data,omitempty" doc:"Base64."`
}

// LogInput carries output.
type LogInput struct {
	Held
	Body LogBody
}

// EventsBody is an execution.RelayEvents whose list may be null.
type EventsBody struct{ execution.RelayEvents }

// TransformSchema allows null for a list without events, as encoding/json writes it.
func (EventsBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Properties["events"].Nullable = true
	return s
}

// EventsInput carries events.
type EventsInput struct {
	Held
	Body EventsBody
}

// HostsInput carries hosts.
type HostsInput struct {
	Held
	Body execution.RelayHostList
}

// TasksInput carries tasks.
type TasksInput struct {
	Held
	Body execution.RelayTaskList
}

// FactsInput carries facts.
type FactsInput struct {
	Held
	Body execution.RelayFactsList
}

// PlanInput carries a plan.
type PlanInput struct {
	Held
	Body runs.Plan
}

func (h *handlers) reporting(r *httpapi.Router) {
	declare(r, http.MethodPost, "/save", httpapi.Route{
		ID: "save-run", Summary: "Save the state of a run", Request: exampleSave(), Status: http.StatusNoContent,
		Description: "With running the run begins; wait for the answer before you start a process. With pending a run " +
			"that did not begin is " +
			"returned to the queue. With succeeded, failed, canceled or interrupted it ends, after all other reports. " +
			"A repetition is not an error.",
	}, h.save)
	declare(r, http.MethodPost, "/divide", httpapi.Route{
		ID: "divide-run", Summary: "Divide a split over its hosts", Request: exampleDivision(), Status: http.StatusNoContent,
		Description: "Ends the claim: executors claim the shards. At most 100000 hosts.",
	}, h.divide)
	declare(r, http.MethodPost, "/log", httpapi.Route{
		ID: "append-log", Summary: "Append captured output", Request: exampleLog(),
		Example:     execution.RelayOffset{NextOffset: 6},
		Description: "Bytes that are already stored are ignored.",
	}, h.log)
	declare(r, http.MethodPost, "/events", httpapi.Route{
		ID: "append-events", Summary: "Append structured events", Request: exampleEvents(),
		Example: execution.RelaySeq{NextSeq: 4},
		Description: "Events that are already stored are ignored; a gap is 409 (sequence_gap). At most 5000. Without " +
			"events the answer has the next sequence number.",
	}, h.events)
	declare(r, http.MethodPost, "/host-summary", httpapi.Route{
		ID: "save-host-summary", Summary: "Save the results of a run on each host", Request: exampleHosts(),
		Status:      http.StatusNoContent,
		Description: "At most 5000 hosts.",
	}, h.hosts)
	declare(r, http.MethodPost, "/task-summary", httpapi.Route{
		ID: "save-task-summary", Summary: "Save the results of a run in each task", Request: exampleTasks(),
		Status:      http.StatusNoContent,
		Description: "At most 5000 tasks.",
	}, h.tasks)
	declare(r, http.MethodPost, "/host-facts", httpapi.Route{
		ID: "save-host-facts", Summary: "Save gathered facts", Request: exampleFacts(), Status: http.StatusNoContent,
		Description: "Only of hosts that the run has reported results of. At most 5000.",
	}, h.facts)
	declare(r, http.MethodPost, "/propose-apply", httpapi.Route{
		ID: "propose-apply", Summary: "Report the plan of a dry run", Request: examplePlan(),
		MaxBody: execution.RelayPlan, Example: execution.RelayPlanned{RunID: exampleID},
		Description: "The plan makes a run that applies it, which is held and bound to the digest. run_id names it. A held " +
			"run of the same settings with the same digest is that run; one with another digest is rejected. run_id is empty " +
			"for a plan without findings, and if a policy denies the run. At most 5000 findings; each resource, action and " +
			"summary has at most 1024 bytes, all texts together have 4 MiB. A repetition is not an error; another digest is " +
			"409 (plan_conflict), and a run that is no dry run is 409 (run_not_dry_run).",
	}, h.plan)
}

func (h *handlers) save(ctx context.Context, in *SaveInput) (*httpapi.NoOutput, error) {
	return report(in.Held, func(l execution.Leaseholder) error { return h.Relay.Save(ctx, l, in.Body) })
}

func (h *handlers) divide(ctx context.Context, in *DivisionInput) (*httpapi.NoOutput, error) {
	return report(in.Held, func(l execution.Leaseholder) error { return h.Relay.Divide(ctx, l, in.Body) })
}

func (h *handlers) log(ctx context.Context, in *LogInput) (*httpapi.Output[execution.RelayOffset], error) {
	return held(in.Held, func(l execution.Leaseholder) (execution.RelayOffset, error) {
		data, err := base64.StdEncoding.Strict().DecodeString(in.Body.Data)
		if err != nil {
			return execution.RelayOffset{}, fault.BadField("data", "is no base64")
		}
		next, err := h.Journal.AppendLog(ctx, l, runs.LogChunk{Offset: in.Body.Offset, Data: data})
		return execution.RelayOffset{NextOffset: next}, err
	})
}

func (h *handlers) events(ctx context.Context, in *EventsInput) (*httpapi.Output[execution.RelaySeq], error) {
	return held(in.Held, func(l execution.Leaseholder) (execution.RelaySeq, error) {
		next, err := h.Journal.AppendEvents(ctx, l, in.Body.Events)
		return execution.RelaySeq{NextSeq: next}, err
	})
}

func (h *handlers) hosts(ctx context.Context, in *HostsInput) (*httpapi.NoOutput, error) {
	return report(in.Held, func(l execution.Leaseholder) error {
		return h.Journal.SaveHosts(ctx, l, in.Body.Summaries())
	})
}

func (h *handlers) tasks(ctx context.Context, in *TasksInput) (*httpapi.NoOutput, error) {
	return report(in.Held, func(l execution.Leaseholder) error {
		return h.Journal.SaveTasks(ctx, l, in.Body.Summaries())
	})
}

func (h *handlers) facts(ctx context.Context, in *FactsInput) (*httpapi.NoOutput, error) {
	return report(in.Held, func(l execution.Leaseholder) error {
		return h.Journal.SaveFacts(ctx, l, in.Body.Gathered())
	})
}

func (h *handlers) plan(ctx context.Context, in *PlanInput) (*httpapi.Output[execution.RelayPlanned], error) {
	return held(in.Held, func(l execution.Leaseholder) (execution.RelayPlanned, error) {
		id, err := h.Journal.ProposeApply(ctx, l, in.Body)
		return execution.RelayPlanned{RunID: id}, err
	})
}

// report makes a call that returns no content.
func report(in Held, call func(execution.Leaseholder) error) (*httpapi.NoOutput, error) {
	_, err := held(in, func(l execution.Leaseholder) (struct{}, error) { return struct{}{}, call(l) })
	return &httpapi.NoOutput{}, err
}
