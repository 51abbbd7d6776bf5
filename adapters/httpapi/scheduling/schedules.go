package scheduling

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

// NewScheduleBody holds the fields of a schedule that a caller may set.
type NewScheduleBody struct {
	Name     string `json:"name" minLength:"1" maxLength:"200"`
	Cron     string `json:"cron" minLength:"1" doc:"Five fields, or a word such as @daily. Days of month and days of week that are both restricted mean either."`
	Timezone string `json:"timezone,omitempty" doc:"An IANA name; the server's local time if absent."`
	Enabled  *bool  `json:"enabled,omitempty" doc:"True if absent."`
	Overlap  string `json:"overlap,omitempty" enum:"skip,queue,allow" doc:"What happens while its last run is unfinished, which a held run is too: the time is missed, which is the default, the new run waits, or both execute."`
	TargetBody
	Org string `json:"org_id,omitempty"`
}

func (b *NewScheduleBody) schedule(t TargetBody) (scheduling.Schedule, error) {
	target, err := t.target()
	if err != nil {
		return scheduling.Schedule{}, err
	}
	return scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{Name: b.Name, Org: b.Org}}, Cron: b.Cron, Timezone: b.Timezone,
		Enabled: b.Enabled == nil || *b.Enabled, Overlap: scheduling.Overlap(b.Overlap), Target: target,
	}, nil
}

// ScheduleBody is a schedule. Empty fields are absent.
type ScheduleBody struct {
	httpapi.Record
	NewScheduleBody
	NextRunAt *time.Time `json:"next_run_at,omitempty" readOnly:"true" doc:"Absent if it never fires again."`
	LastRunAt *time.Time `json:"last_run_at,omitempty" readOnly:"true" doc:"The last time that it fired."`
	LastRunID string     `json:"last_run_id,omitempty" readOnly:"true"`
	LastError string     `json:"last_error,omitempty" readOnly:"true" doc:"Why it started no run the last time."`
}

func scheduleBody(s scheduling.Schedule) (ScheduleBody, error) {
	target, err := targetBody(s.Target)
	return ScheduleBody{
		Record: httpapi.RecordOf(s.Record.Record), NewScheduleBody: NewScheduleBody{
			Name: s.Name, Cron: s.Cron, Timezone: s.Timezone, Enabled: &s.Enabled,
			Overlap: string(s.Overlap), TargetBody: target, Org: s.Org,
		},
		NextRunAt: httpapi.When(s.NextRunAt), LastRunAt: httpapi.When(s.LastRunAt), LastRunID: s.LastRunID,
		LastError: s.LastError,
	}, err
}

// shown is a schedule with its body, which cannot be made of every target.
type shown struct {
	scheduling.Schedule
	body ScheduleBody
}

func show(s scheduling.Schedule, err error) (shown, error) {
	if err != nil {
		return shown{}, err
	}
	body, err := scheduleBody(s)
	return shown{s, body}, err
}

func (h *handlers) createSchedule(ctx context.Context, b *NewScheduleBody) (shown, error) {
	s, err := b.schedule(b.TargetBody)
	if err != nil {
		return shown{}, err
	}
	return show(h.Schedules.Create(ctx, s))
}

func (h *handlers) getSchedule(ctx context.Context, id string) (shown, error) {
	return show(h.Schedules.Get(ctx, id))
}

func (h *handlers) updateSchedule(ctx context.Context, in *httpapi.ChangeInput[ScheduleBody]) (shown, error) {
	if _, err := in.Body.schedule(in.Body.TargetBody); err != nil {
		return shown{}, err
	}
	get := func(ctx context.Context) (scheduling.Schedule, int64, error) {
		s, err := h.Schedules.Get(ctx, in.ID)
		return s, s.Revision, err
	}
	return show(amend(ctx, in.IfMatch.Revision(), get,
		func(ctx context.Context, stored scheduling.Schedule, revision int64) (scheduling.Schedule, error) {
			err := in.Body.Unchanged(in.ID, func() (object.Record, error) { return stored.Record.Record, nil })
			if err != nil {
				return stored, err
			}
			s, err := in.Body.unmaskedSchedule(stored)
			if err != nil {
				return s, err
			}
			return h.Schedules.Update(ctx, in.ID, revision, s)
		}))
}

// unmaskedSchedule returns the schedule of a body, with the stored values that the body echoes.
func (b *NewScheduleBody) unmaskedSchedule(stored scheduling.Schedule) (scheduling.Schedule, error) {
	target, err := b.unmasked(stored.Target)
	if err != nil {
		return stored, err
	}
	return b.schedule(target)
}

func (h *handlers) compareSchedule(ctx context.Context, id string, b *NewScheduleBody) ([]string, error) {
	stored, err := h.Schedules.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := b.unmaskedSchedule(stored)
	if err != nil {
		return nil, err
	}
	return h.Schedules.Compare(ctx, id, s)
}

// ScheduleList lists schedules by name.
type ScheduleList struct {
	Schedules []ScheduleBody `json:"schedules"`
	httpapi.Listed
}

func scheduleList(rows []ScheduleBody, l httpapi.Listed) ScheduleList { return ScheduleList{rows, l} }

func (h *handlers) listSchedules(
	ctx context.Context, f scheduling.Filter, w page.Window,
) (out []ScheduleBody, total int, err error) {
	list, total, err := h.Schedules.List(ctx, f, w)
	for i := 0; i < len(list) && err == nil; i++ {
		var b ScheduleBody
		b, err = scheduleBody(list[i])
		out = append(out, b)
	}
	return out, total, err
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

func (h *handlers) preview(_ context.Context, in *PreviewInput) (*httpapi.Output[PreviewBody], error) {
	count := in.Count.Clamp(scheduling.DefaultPreview, scheduling.MaxPreview)
	return httpapi.Show(func(p scheduling.Preview) PreviewBody {
		return PreviewBody{
			Cron: p.Cron, Timezone: p.Timezone, Count: count, Next: append([]time.Time{}, p.Next...),
			Notes: append([]string{}, p.Notes...),
		}
	})(h.Planner.Preview(in.Cron, in.Timezone, count))
}

func (h *handlers) schedules(r *httpapi.Router) {
	k := httpapi.Kind[shown, ScheduleBody]{
		Path: "/v1/schedules", Noun: "schedule", Tag: tag, Read: readAccess(), Write: writeAccess(),
		Example: exampleSchedule(), Request: exampleNewSchedule(), Body: func(s shown) ScheduleBody { return s.body },
		Record: func(s shown) object.Record { return s.Record.Record },
	}
	httpapi.Handle(r, k.Create(audit.ScheduleCreate, "Create a schedule",
		"It fires with the rights of whoever changed it last."),
		httpapi.Creator(k, httpapi.Self[NewScheduleBody], h.createSchedule))
	httpapi.HandleList(r, k.List("List schedules", "Those that the caller may read. next_run_at is when each fires."),
		scheduleList, func(b ScheduleBody) ScheduleBody { return b },
		httpapi.Filtered((*ListInput).filter, h.listSchedules), k.Example)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: k.Path + "/preview", ID: "preview-schedule", Tag: tag,
		Summary:     "Preview when an expression fires",
		Description: "Nothing is stored. Notes tell of hours that the clocks skip or repeat.",
		Access:      k.Read, Status: http.StatusOK, Example: examplePreview(), Errors: []int{http.StatusBadRequest},
	}, h.preview)
	httpapi.Handle(r, k.Get("Read one schedule", "Values that look secret read back as [redacted]."),
		k.Getter(h.getSchedule))
	httpapi.Handle(r, k.Update(audit.ScheduleUpdate, "Replace a schedule",
		"An omitted member clears, an omitted enabled is true, and an omitted overlap is skip. A value that reads back "+
			"as [redacted], and a notification that reads back masked, stay as they are where they are sent as they were read."),
		func(ctx context.Context, in *httpapi.ChangeInput[ScheduleBody]) (*httpapi.ObjectOutput[ScheduleBody], error) {
			return k.Show(h.updateSchedule(ctx, in))
		})
	httpapi.Handle(r, k.Compare("schedule"), httpapi.Comparer(httpapi.Self[NewScheduleBody], h.compareSchedule))
	httpapi.Handle(r, k.Delete(audit.ScheduleDelete, "Delete a schedule", "Runs that it made stay."),
		httpapi.Deleter(h.Schedules.Delete))
}
