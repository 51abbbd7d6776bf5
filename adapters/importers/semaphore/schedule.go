package semaphore

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/reserved"
)

func (x *reader) schedule(r *record) {
	name, template := r.text("name"), r.text("template")
	if name == "" {
		name = template
	}
	if kind := r.line("type"); kind == "run_at" || r.line("cron_format") == "" && !blank(r.values["run_at"]) {
		x.skip("schedule", name, r.ref, "It starts the template once; launch it then.")
		return
	}
	x.plan(r, name, template, r.line("cron_format"), r.flag("active"))
}

// ownCron makes the schedule of a template of an old backup, which has the times itself.
func (x *reader) ownCron(r *record, name string) {
	if expression := r.line("cron"); expression != "" {
		x.plan(newRecord(r.ref+".cron", nil), name, name, expression, true)
	}
}

// plan adds a schedule.
func (x *reader) plan(r *record, name, template, expression string, enabled bool) {
	t, known := x.templates[template]
	zone, loc, when, err := times(expression, x.now)
	reason := ""
	switch {
	case t == nil && known:
		reason = "Its template is not imported."
	case t == nil:
		reason = "Its template " + reserved.Shown(template) + " is not in the backup."
	case err != nil:
		reason = "The times " + reserved.Shown(expression) + " have no counterpart: " + err.Error() + "."
	}
	cron, ok := when.Unix()
	if reason == "" && !ok {
		reason = "The times " + reserved.Shown(expression) + " cannot be written as a schedule of the server."
	}
	if reason == "" {
		reason = unanswered(t)
	}
	if reason != "" {
		x.skip("schedule", name, r.ref, reason)
		return
	}
	o := importer.Object{Kind: importer.Schedule, Name: x.Name(importer.Schedule, name), Ref: r.ref}
	spec := &importer.ScheduleSpec{Cron: cron, Timezone: zone, Enabled: enabled, Overlap: "queue", Template: t.Name}
	if s, is := t.Spec.(*importer.TemplateSpec); is && *s.MaxConcurrent == 0 {
		spec.Overlap = "allow"
	}
	o.Spec, o.Fires = spec, when.Next(x.now, loc, importer.MaxFires)
	draft.Map(&o, "The times became %s.", cron)
	if zone == "" {
		draft.Warn(&o, "cron_format", "It follows the clock of this server; set timezone if the other has another zone.")
	}
	if !blank(r.take("task_params")) {
		draft.Need(&o, "task_params", "The schedule set parameters of the task, which are left out; make a template for it.")
	}
	if r.flag("delete_after_run") {
		draft.Need(&o, "delete_after_run", "The schedule is not deleted after a run; disable it then.")
	}
	r.take("run_at")
	r.rest(&o, "")
	x.Add(o)
}

// unanswered returns why a schedule cannot start a template that asks.
func unanswered(t *importer.Object) string {
	s, ok := t.Spec.(*importer.TemplateSpec)
	if !ok {
		return ""
	}
	for _, q := range s.Survey {
		if q.Required && q.Default == nil {
			return "The question " + reserved.Shown(q.Var) + " of its template needs an answer, and it has none."
		}
	}
	return ""
}

// times reads the times by the rules of the product: those of Unix, where a question mark is a star and a star with a
// step restricts a day field; a zone may be in front.
func times(text string, now time.Time) (zone string, loc *time.Location, when crontime.Spec, err error) {
	loc = now.Location()
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			zone, text, _ = strings.Cut(rest, " ")
			if loc, err = crontime.Zone(zone); err != nil {
				return "", nil, when, err
			}
			break
		}
	}
	fields := strings.Fields(text)
	for i := range fields {
		if fields[i][0] != '@' {
			fields[i] = strings.ReplaceAll(fields[i], "?", "*")
		}
	}
	if when, err = crontime.ParseUnix(strings.Join(fields, " ")); err != nil {
		return "", nil, when, err
	}
	if days, weekdays := int(crontime.Day), int(crontime.Weekday); len(fields) > weekdays {
		when.Either = !starred(fields[days]) && !starred(fields[weekdays])
	}
	return zone, loc, when, nil
}

// starred reports whether a field stands for every day.
func starred(field string) bool {
	return slices.ContainsFunc(strings.Split(field, ","), func(part string) bool { return part == "*" || part == "*/1" })
}
