package awx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// nested reads the schedules within an object.
func (x *reader) nested(e *entry, related *record) {
	for i, v := range related.list("schedules") {
		r := newRecord(fmt.Sprintf("%s.related.schedules[%d]", e.ref, i), v)
		if _, whole := r.values["rrule"]; whole {
			x.schedule(r, e, e.kind, e.name)
		} else if len(x.index["schedule\x00"+named(v)]) == 0 {
			x.Skip("schedule", named(v), r.ref, "The export has only the name of the schedule.")
		}
	}
}

// topSchedule reads a schedule of the list of schedules, which names what it starts.
func (x *reader) topSchedule(_ *entry, r *record) {
	key := r.take("unified_job_template")
	m, _ := key.(map[string]any)
	kind := text(m["type"])
	if kind != "" {
		x.schedule(r, x.find(kind, key), kind, named(key))
		return
	}
	for _, kind := range []string{"job_template", "workflow_job_template", "project", "inventory_source"} {
		if t := x.find(kind, key); t != nil {
			x.schedule(r, t, kind, t.name)
			return
		}
	}
	x.schedule(r, nil, "job_template", named(key))
}

// schedule adds a schedule. target is nil for one that is not in the export.
func (x *reader) schedule(r *record, target *entry, kind, name string) {
	key := kind + "\x00" + name + "\x00" + r.line("name")
	if target != nil {
		key += "\x00" + target.ref
	}
	if x.planned[key] {
		return // the same one in both places
	}
	x.planned[key] = true
	o := x.Add(importer.Object{Kind: importer.Schedule, Name: r.line("name"), Ref: r.ref})
	if o.Name == "" {
		o.Name = name
	}
	rule, err := parseRule(r.text("rrule"), x.zones)
	if err == nil {
		o.Fires = rule.next(x.now, importer.MaxFires, &x.days)
	}
	spec := importer.ScheduleSpec{Timezone: rule.zone.String(), Enabled: r.flag("enabled"), Overlap: "queue"}
	var reason string
	switch {
	case kind == "project" || kind == "inventory_source":
		reason = "It updates a " + strings.ReplaceAll(kind, "_", " ") + ", which is done when runs start."
	case kind == "system_job_template":
		reason = "It starts a job of the product's own maintenance."
	case err != nil:
		reason = "The recurrence cannot be read: " + err.Error() + "."
	case target != nil && !target.written():
		reason = "Its template is not imported."
	case name == "":
		reason = "It names no template."
	case rule.computed() && len(o.Fires) == 0 && x.days > 0:
		reason = "The recurrence has ended, or never fires."
	default:
		if spec.Cron, reason = rule.cron(); reason != "" {
			reason = fmt.Sprintf("%s: %s", reason, short(strings.Join(strings.Fields(r.text("rrule")), " "), maxVariable))
		}
	}
	if reason == "" {
		reason = x.launched(o, &spec, r, target, name)
	}
	if reason != "" {
		lose(o, "%s", reason)
		return
	}
	o.Name = x.unique(importer.Schedule, o.Name)
	for i := range o.Warnings {
		o.Warnings[i].Object = o.Name
	}
	r.described(o)
	rule.differs(o, x.now, &x.days)
	draft.Map(o, "The recurrence became %s in the zone %s.", spec.Cron, spec.Timezone)
	o.Spec = &spec
	r.skip("rrule", "enabled", "dtstart", "dtend", "timezone", "until", "unified_job_template")
	r.rest(o, "")
}

// launched sets what a schedule starts, or returns why it cannot.
func (x *reader) launched(
	o *importer.Object, spec *importer.ScheduleSpec, r *record, target *entry, name string,
) string {
	if target == nil {
		for _, member := range slices.Sorted(maps.Keys(r.values)) {
			if v := r.values[member]; !slices.Contains([]string{"name", "description", "rrule", "enabled", "dtstart", "dtend",
				"timezone", "until", "unified_job_template"}, member) && !meaningless(member) && !blank(v) {
				return "It sets " + shown(member) + " for a template that is not in the export."
			}
		}
		draft.Need(o, "unified_job_template", "The template %q is not in the export; the server has to have one of this "+
			"name.", name)
		spec.Template = name
		return ""
	}
	if n := target.template.spec.MaxConcurrent; n != nil && *n == 0 {
		spec.Overlap = "allow"
	}
	l := &launch{object: o, what: "The schedule", label: o.Name, target: target, own: r}
	var reason string
	spec.Template, spec.Answers, reason = x.start(l)
	return reason
}

// differs warns of what a cron expression does not keep of a rule.
func (r *rule) differs(o *importer.Object, now time.Time, left *int) {
	if r.skips(now, left) {
		draft.Warn(o, "rrule", "A time that the clock skips fires right after the gap here, and did not fire before.")
	}
	if r.start.Second() != 0 || slices.ContainsFunc(r.seconds, func(s int) bool { return s != 0 }) {
		draft.Warn(o, "rrule", "The seconds are dropped: it fires at the start of the minute.")
	}
	if r.instant(r.start).After(now) {
		draft.Need(o, "rrule", "The recurrence has not begun; the schedule fires from now on, if it is enabled.")
	}
	if r.count > 0 || !r.until.IsZero() {
		draft.Need(o, "rrule", "The recurrence ends, and the schedule does not: disable it then.")
	}
}
