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

// LogOutput returns the offset where the output ends.
type LogOutput struct{ Body execution.RelayOffset }

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

// EventsOutput returns the next sequence number.
type EventsOutput struct{ Body execution.RelaySeq }

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

func (h *handlers) reporting(r *httpapi.Router) {
	declare(r, http.MethodPost, "/save", httpapi.Route{
		ID: "save-run", Summary: "Save the state of a run", Request: exampleSave(), Status: http.StatusNoContent,
		Description: "With running the run begins, which has to be answered before a process is started; with pending a run that did not begin is " +
			"given back; with succeeded, failed, canceled or interrupted it ends, after everything else was reported. The same again is no error.",
	}, h.save)
	declare(r, http.MethodPost, "/divide", httpapi.Route{
		ID: "divide-run", Summary: "Divide a split over its hosts", Request: exampleDivision(), Status: http.StatusNoContent,
		Description: "Ends the claim: executors claim the shards. At most 100000 hosts.",
	}, h.divide)
	declare(r, http.MethodPost, "/log", httpapi.Route{
		ID: "append-log", Summary: "Append captured output", Request: exampleLog(),
		Example:     execution.RelayOffset{NextOffset: 6},
		Description: "Bytes that are held already are ignored.",
	}, h.log)
	declare(r, http.MethodPost, "/events", httpapi.Route{
		ID: "append-events", Summary: "Append structured events", Request: exampleEvents(),
		Example:     execution.RelaySeq{NextSeq: 4},
		Description: "Events that are held already are ignored; a gap is 409 (sequence_gap). At most 5000. Without any it is asked for the next sequence number.",
	}, h.events)
	declare(r, http.MethodPost, "/host-summary", httpapi.Route{
		ID: "save-host-summary", Summary: "Save what a run did on each host", Request: exampleHosts(),
		Status:      http.StatusNoContent,
		Description: "At most 5000 hosts.",
	}, h.hosts)
	declare(r, http.MethodPost, "/task-summary", httpapi.Route{
		ID: "save-task-summary", Summary: "Save what a run did in each task", Request: exampleTasks(),
		Status:      http.StatusNoContent,
		Description: "At most 5000 tasks.",
	}, h.tasks)
	declare(r, http.MethodPost, "/host-facts", httpapi.Route{
		ID: "save-host-facts", Summary: "Save gathered facts", Request: exampleFacts(), Status: http.StatusNoContent,
		Description: "Only of hosts that the run has reported results of. At most 5000.",
	}, h.facts)
}

func (h *handlers) save(ctx context.Context, in *SaveInput) (*NoOutput, error) {
	return h.report(in.Held, func(leaseholder execution.Leaseholder) error {
		return h.Relay.Save(ctx, leaseholder, in.Body)
	})
}

func (h *handlers) divide(ctx context.Context, in *DivisionInput) (*NoOutput, error) {
	return h.report(in.Held, func(leaseholder execution.Leaseholder) error {
		return h.Relay.Divide(ctx, leaseholder, in.Body)
	})
}

func (h *handlers) log(ctx context.Context, in *LogInput) (*LogOutput, error) {
	leaseholder, err := in.leaseholder(in.ID)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(in.Body.Data)
	if err != nil {
		return nil, fault.BadField("data", "is no base64")
	}
	next, err := h.Journal.AppendLog(ctx, leaseholder, runs.LogChunk{Offset: in.Body.Offset, Data: data})
	if err != nil {
		return nil, callerError(err)
	}
	return &LogOutput{Body: execution.RelayOffset{NextOffset: next}}, nil
}

func (h *handlers) events(ctx context.Context, in *EventsInput) (*EventsOutput, error) {
	leaseholder, err := in.leaseholder(in.ID)
	if err != nil {
		return nil, err
	}
	next, err := h.Journal.AppendEvents(ctx, leaseholder, in.Body.Events)
	if err != nil {
		return nil, callerError(err)
	}
	return &EventsOutput{Body: execution.RelaySeq{NextSeq: next}}, nil
}

func (h *handlers) hosts(ctx context.Context, in *HostsInput) (*NoOutput, error) {
	return h.report(in.Held, func(leaseholder execution.Leaseholder) error {
		return h.Journal.SaveHosts(ctx, leaseholder, in.Body.Summaries())
	})
}

func (h *handlers) tasks(ctx context.Context, in *TasksInput) (*NoOutput, error) {
	return h.report(in.Held, func(leaseholder execution.Leaseholder) error {
		return h.Journal.SaveTasks(ctx, leaseholder, in.Body.Summaries())
	})
}

func (h *handlers) facts(ctx context.Context, in *FactsInput) (*NoOutput, error) {
	return h.report(in.Held, func(leaseholder execution.Leaseholder) error {
		return h.Journal.SaveFacts(ctx, leaseholder, in.Body.Gathered())
	})
}

// report makes a call that returns no content.
func (*handlers) report(held Held, call func(execution.Leaseholder) error) (*NoOutput, error) {
	leaseholder, err := held.leaseholder(held.ID)
	if err != nil {
		return nil, err
	}
	if err := call(leaseholder); err != nil {
		return nil, callerError(err)
	}
	return &NoOutput{}, nil
}
