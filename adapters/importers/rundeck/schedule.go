package rundeck

import (
	"strings"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// scheduleOf adds the schedule of a job, or says why it has none.
func (r *reader) scheduleOf(j *job) {
	text := expression(j.schedule)
	if text == "" {
		return
	}
	name := j.object.Name
	loc := r.now.Location() // as schedules of the server without a zone
	if j.zone != "" {
		var err error
		if loc, err = crontime.Zone(j.zone); err != nil {
			r.draft.Skip(importer.Schedule, name, j.ref, "the schedule is not kept: %s", err)
			return
		}
	}
	q, reason := parseQuartz(text)
	cron := ""
	if reason == "" {
		var ok bool
		if cron, ok = q.spec.Unix(); !ok {
			reason = "five fields cannot say it"
		}
	}
	if reason != "" {
		r.draft.Skip(importer.Schedule, name, j.ref, "the expression %q is not kept: %s", oneLine(text), reason)
		return
	}
	spec := &importer.ScheduleSpec{Cron: cron, Timezone: j.zone, Enabled: j.scheduled && j.enabled, Overlap: "skip",
		Template: name}
	if j.several {
		spec.Overlap = "allow"
	}
	o := &importer.Object{Kind: importer.Schedule, Name: r.draft.Name(importer.Schedule, name), Ref: j.ref,
		Class: importer.Same, Spec: spec, Fires: q.next(r.now, loc, importer.MaxFires)}
	draft.Map(o, "The Quartz expression %q is the cron expression %q, in which Sunday is 0.", oneLine(text), cron)
	if !j.enabled && j.scheduled {
		draft.Warn(o, "executionEnabled", "the schedule is disabled, since executions of the job are")
	}
	if j.zone == "" {
		draft.Warn(o, "timeZone", "the expression has no time zone: it is read in that of this server")
	}
	if q.second != 0 {
		draft.Warn(o, "schedule.time.seconds", "it fires at the start of the minute, and not %d seconds later", q.second)
	}
	for _, question := range j.spec.Survey {
		if question.Required && question.Default == nil {
			spec.Enabled = false
			draft.Need(o, "options", "the question %s has no default: give the schedule an answer, then enable it", question.Var)
		}
	}
	lost(o, j.schedule, "schedule")
	r.draft.Add(*o)
}

// expression returns a schedule as one expression of Quartz, empty for no schedule. Its parts may be on their own.
func expression(f fields) string {
	if !set(f) {
		return ""
	}
	if text := f.text("crontab"); text != "" {
		f.drop("time", "month", "weekday", "dayofmonth", "year")
		return text
	}
	part := func(o fields, name, otherwise string) string {
		// Blanks in a list are no borders of fields.
		if v := strings.Join(strings.Fields(o.text(name)), ""); v != "" {
			return v
		}
		return otherwise
	}
	at := f.object("time")
	weekday, day := f.object("weekday"), f.object("dayofmonth")
	dow, dom := part(weekday, "day", "?"), part(day, "day", "?")
	if dow == "?" && dom == "?" {
		dom = "*"
	}
	f.drop("weekday", "dayofmonth")
	return strings.Join([]string{part(at, "seconds", "0"), part(at, "minute", "0"), part(at, "hour", "0"), dom,
		part(f, "month", "*"), dow, part(f, "year", "*")}, " ")
}
