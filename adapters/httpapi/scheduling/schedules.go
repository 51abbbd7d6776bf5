package scheduling

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/scheduling"
)

const schedulesPath = "/v1/schedules"

// NewScheduleBody holds the fields of a schedule that a caller may set.
type NewScheduleBody struct {
	Name     string `json:"name" minLength:"1" maxLength:"200"`
	Cron     string `json:"cron" minLength:"1" doc:"Five fields, or a word such as @daily. Days of month and days of week that are both restricted mean either."`
	Timezone string `json:"timezone,omitempty" doc:"An IANA name; the server's local time if absent."`
	Enabled  *bool  `json:"enabled,omitempty" doc:"True if absent."`
	TargetBody
	Org string `json:"org_id,omitempty"`
}

func (b *NewScheduleBody) schedule(t TargetBody) (scheduling.Schedule, error) {
	target, err := t.target()
	if err != nil {
		return scheduling.Schedule{}, err
	}
	return scheduling.Schedule{
		Record: scheduling.Record{Name: b.Name, Org: b.Org}, Cron: b.Cron, Timezone: b.Timezone,
		Enabled: b.Enabled == nil || *b.Enabled, Target: target,
	}, nil
}

// ScheduleBody is a schedule. Empty fields are absent.
type ScheduleBody struct {
	httpapi.Record
	NewScheduleBody
	NextRunAt *time.Time `json:"next_run_at,omitempty" readOnly:"true" doc:"Absent if it never fires again."`
	LastRunAt *time.Time `json:"last_run_at,omitempty" readOnly:"true" doc:"The last time that it fired."`
	LastRunID string     `json:"last_run_id,omitempty" readOnly:"true"`
	LastError string     `json:"last_error,omitempty" readOnly:"true" doc:"Why it started no run."`
}

func scheduleBody(s scheduling.Schedule) (ScheduleBody, error) {
	target, err := targetBody(s.Target)
	return ScheduleBody{
		Record: recordBody(s.Record), NewScheduleBody: NewScheduleBody{
			Name: s.Name, Cron: s.Cron, Timezone: s.Timezone, Enabled: &s.Enabled, TargetBody: target, Org: s.Org,
		},
		NextRunAt: httpapi.When(s.NextRunAt), LastRunAt: httpapi.When(s.LastRunAt), LastRunID: s.LastRunID,
		LastError: s.LastError,
	}, err
}

func recordBody(r scheduling.Record) httpapi.Record {
	return httpapi.Record{Stamps: httpapi.Stamps{ID: r.ID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt},
		CreatedBy: r.CreatedBy}
}

func schedule(s scheduling.Schedule, err error) (*httpapi.ObjectOutput[ScheduleBody], error) {
	if err != nil {
		return nil, err
	}
	b, err := scheduleBody(s)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[ScheduleBody]{ETag: httpapi.ETag(s.Revision), Body: b}, nil
}

func (h *handlers) createSchedule(
	ctx context.Context, in *httpapi.NewInput[NewScheduleBody],
) (*httpapi.NewObjectOutput[ScheduleBody], error) {
	s, err := in.Body.schedule(in.Body.TargetBody)
	if err != nil {
		return nil, err
	}
	out, err := schedule(h.Schedules.Create(ctx, s))
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[ScheduleBody]{Location: schedulesPath + "/" + out.Body.ID, ETag: out.ETag,
		Body: out.Body}, nil
}

func (h *handlers) getSchedule(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[ScheduleBody], error) {
	return schedule(h.Schedules.Get(ctx, in.ID))
}

func (h *handlers) updateSchedule(
	ctx context.Context, in *httpapi.ChangeInput[ScheduleBody],
) (*httpapi.ObjectOutput[ScheduleBody], error) {
	if _, err := in.Body.schedule(in.Body.TargetBody); err != nil {
		return nil, err
	}
	get := func(ctx context.Context) (scheduling.Schedule, int64, error) {
		s, err := h.Schedules.Get(ctx, in.ID)
		return s, s.Revision, err
	}
	return schedule(amend(ctx, in.IfMatch.Revision(), get,
		func(ctx context.Context, stored scheduling.Schedule, revision int64) (scheduling.Schedule, error) {
			err := in.Body.Unchanged(in.ID, func() (httpapi.Record, error) { return recordBody(stored.Record), nil })
			if err != nil {
				return stored, err
			}
			target, err := in.Body.unmasked(stored.Target)
			if err != nil {
				return stored, err
			}
			s, err := in.Body.schedule(target)
			if err != nil {
				return s, err
			}
			return h.Schedules.Update(ctx, in.ID, revision, s)
		}))
}

func (h *handlers) compareSchedule(
	ctx context.Context, in *httpapi.CompareInput[NewScheduleBody],
) (*httpapi.DifferenceOutput, error) {
	stored, err := h.Schedules.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	target, err := in.Body.unmasked(stored.Target)
	if err != nil {
		return nil, err
	}
	s, err := in.Body.schedule(target)
	if err != nil {
		return nil, err
	}
	return httpapi.Difference(h.Schedules.Compare(ctx, in.ID, s))
}

func (h *handlers) deleteSchedule(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return &httpapi.NoOutput{}, h.Schedules.Delete(ctx, in.ID, in.IfMatch.Revision())
}

// ScheduleList lists schedules by name.
type ScheduleList struct {
	Schedules []ScheduleBody `json:"schedules"`
	httpapi.Listed
}

func (h *handlers) listSchedules(ctx context.Context, in *ListInput) (*httpapi.ListOutput[ScheduleList], error) {
	list, total, err := h.Schedules.List(ctx, in.filter(), in.Page())
	if err != nil {
		return nil, err
	}
	var failed error
	rows, listed := httpapi.List(list, total, in.Window, func(s scheduling.Schedule) ScheduleBody {
		b, err := scheduleBody(s)
		if err != nil {
			failed = err
		}
		return b
	})
	return &httpapi.ListOutput[ScheduleList]{Body: ScheduleList{Schedules: rows, Listed: listed}}, failed
}

// PreviewInput selects an expression for a preview.
type PreviewInput struct {
	Cron     string        `query:"cron" required:"true"`
	Timezone string        `query:"timezone" doc:"An IANA name; the server's local time if absent."`
	Count    httpapi.Count `query:"count" doc:"The number of times: 5 if absent, at most 50; a larger number means 50."`
}

// PreviewBody lists the next firings of an expression.
type PreviewBody struct {
	Cron     string      `json:"cron"`
	Timezone string      `json:"timezone" doc:"Empty for the server's local time."`
	Count    int         `json:"count" doc:"The count that was used."`
	Next     []time.Time `json:"next" doc:"Ascending; fewer than requested if it never fires again."`
	Notes    []string    `json:"notes" doc:"Notes about hours that the clocks skip or repeat, and days that do not exist."`
}

// PreviewOutput is the answer with a preview.
type PreviewOutput struct{ Body PreviewBody }

func (h *handlers) preview(_ context.Context, in *PreviewInput) (*PreviewOutput, error) {
	count := in.Count.Clamp(scheduling.DefaultPreview, scheduling.MaxPreview)
	p, err := h.Planner.Preview(in.Cron, in.Timezone, count)
	if err != nil {
		return nil, err
	}
	return &PreviewOutput{Body: PreviewBody{
		Cron: p.Cron, Timezone: p.Timezone, Count: count, Next: append([]time.Time{}, p.Next...),
		Notes: append([]string{}, p.Notes...),
	}}, nil
}

func (h *handlers) schedules(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: schedulesPath, ID: "create-schedule", Action: audit.ScheduleCreate, Tag: tag,
		Summary:     "Create a schedule",
		Description: "It fires with the rights of the account that changed it last.", Access: writeAccess(),
		Status:  http.StatusCreated,
		Example: exampleSchedule(), Request: exampleNewSchedule(), Errors: createStatuses(),
	}, h.createSchedule)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: schedulesPath, ID: "list-schedules", Tag: tag, Summary: "List schedules",
		Access:      readAccess(),
		Description: "The list has the objects that the caller may read. next_run_at is when each fires.",
		Status:      http.StatusOK, Errors: listStatuses(),
		Example: ScheduleList{Schedules: []ScheduleBody{exampleSchedule()}, Listed: httpapi.ExampleListed()},
	}, h.listSchedules)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: schedulesPath + "/preview", ID: "preview-schedule", Tag: tag,
		Summary:     "Preview when an expression fires",
		Description: "Nothing is stored. Notes name hours that the clocks skip or repeat.",
		Access:      readAccess(), Status: http.StatusOK, Example: examplePreview(), Errors: []int{http.StatusBadRequest},
	}, h.preview)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: schedulesPath + "/{id}", ID: "get-schedule", Tag: tag, Summary: "Read one schedule",
		Access:      readAccess(),
		Description: "Values that look secret read back as [redacted].",
		Status:      http.StatusOK, Example: exampleSchedule(), Errors: getStatuses(),
	}, h.getSchedule)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: schedulesPath + "/{id}", ID: "update-schedule", Action: audit.ScheduleUpdate, Tag: tag,
		Summary: "Replace a schedule",
		Description: "An omitted member clears, and an omitted enabled is true. A value that reads back as [redacted], and a notification " +
			"that reads back masked, stay unchanged if they are sent as they were read.",
		Access: writeAccess(), Status: http.StatusOK, Example: exampleSchedule(), Request: exampleNewSchedule(),
		Errors: updateStatuses(),
	}, h.updateSchedule)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: schedulesPath + "/{id}/compare", ID: "compare-schedule", Tag: tag, Harmless: true,
		Summary: "List the members with secrets that an update would change",
		Description: "It needs the right to change the schedule, and the whole body of an update. Values that read back masked are compared with " +
			"the stored ones, which the answer does not contain.",
		Access: writeAccess(), Status: http.StatusOK, Example: httpapi.DifferenceBody{Changed: []string{}},
		Request: exampleNewSchedule(),
		Errors:  []int{http.StatusNotFound, http.StatusConflict},
	}, h.compareSchedule)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: schedulesPath + "/{id}", ID: "delete-schedule", Action: audit.ScheduleDelete,
		Tag:         tag,
		Description: "Its runs stay.",
		Summary:     "Delete a schedule", Access: writeAccess(), Status: http.StatusNoContent, Errors: deleteStatuses(),
	}, h.deleteSchedule)
}
