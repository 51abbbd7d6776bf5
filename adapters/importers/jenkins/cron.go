package jenkins

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// timer is a line of the times at which a job is built.
type timer struct {
	line   string
	zone   string
	spec   crontime.Spec
	hashed bool // the line leaves a time to the server
	err    error
}

const maxTimers = 100 // lines of one job

// timers parses the lines of a specification for a job.
func timers(text, full string) []timer {
	var out []timer
	zone := ""
	for line := range strings.Lines(limited(text)) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "TZ="); ok {
			zone = strings.Trim(name, `"' `)
			continue
		}
		t := timer{line: line, zone: zone}
		t.spec, t.hashed, t.err = parse(line, full)
		if _, err := t.location(time.Time{}); t.err == nil {
			t.err = err
		}
		if out = append(out, t); len(out) > maxTimers {
			break
		}
	}
	return out
}

var zoneName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// location returns the zone of a timer, that of now where it names none.
func (t *timer) location(now time.Time) (*time.Location, error) {
	if t.zone == "" {
		return now.Location(), nil
	}
	if zoneName.MatchString(t.zone) && len(t.zone) < 100 {
		if loc, err := time.LoadLocation(t.zone); err == nil {
			return loc, nil
		}
	}
	return nil, errors.New("the time zone is not known")
}

// words are the lines that have a name.
func words() map[string]string {
	return map[string]string{
		"@hourly": "H * * * *", "@daily": "H H * * *", "@midnight": "H H(0-2) * * *", "@weekly": "H H * * H",
		"@monthly": "H H H * *", "@yearly": "H H H H *", "@annually": "H H H H *",
	}
}

// parse parses a line. All five fields have to match. H is a value that depends on the name of the job and the field.
func parse(line, full string) (crontime.Spec, bool, error) {
	if w, ok := words()[line]; ok {
		line = w
	}
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return crontime.Spec{}, false, fmt.Errorf("it has %d fields instead of five", len(fields))
	}
	var sets [5]crontime.Set
	for f := crontime.Minute; f <= crontime.Weekday; f++ {
		for element := range strings.SplitSeq(fields[f], ",") {
			set, err := values(f, element, hash(full, f))
			if err != nil {
				return crontime.Spec{}, false, fmt.Errorf("the field %s: %w", f, err)
			}
			sets[f] |= set
		}
	}
	return crontime.Spec{Minutes: sets[0], Hours: sets[1], Days: sets[2], Months: sets[3], Weekdays: sets[4]},
		strings.Contains(line, "H"), nil
}

// hash returns a number that is always the same for a job and a field.
func hash(full string, f crontime.Field) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(full + "\x00" + f.String()))
	return int(h.Sum64() >> 33) //nolint:gosec // 31 bits are positive in every int.
}

var element = lazyregexp.New(`^(?:(\*)|(H)(?:\((\d{1,2})-(\d{1,2})\))?|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,3}))?$`)

// values parses an element of a field: *, a, a-b, H or H(a-b), each but a with a step.
func values(f crontime.Field, text string, hash int) (crontime.Set, error) {
	m := element.FindStringSubmatch(text)
	if m == nil || m[5] != "" && m[6] == "" && m[7] != "" {
		return 0, fmt.Errorf("%q is not understood", cut(text, 32))
	}
	low, high := f.Bounds()
	most, step := high, 1
	switch {
	case f == crontime.Weekday:
		most = 7
	case f == crontime.Day && m[2] != "":
		high = 28 // a day that every month has
	}
	if m[7] != "" {
		if step = atoi(m[7]); step == 0 {
			return 0, errors.New("a step of 0 never ends")
		}
	}
	if from := m[3] + m[5]; from != "" {
		to := m[4] + m[6]
		if to == "" {
			to = from
		}
		least := low
		if low, high = atoi(from), atoi(to); low < least || high > most || low > high {
			return 0, fmt.Errorf("%q is not from %d to %d", text, least, most)
		}
	}
	size := high - low + 1
	switch {
	case m[2] != "" && m[7] == "":
		low += hash % size
		high = low
	case m[2] != "":
		low += hash % min(step, size)
	}
	set := crontime.Range(low, high, step)
	if f == crontime.Weekday && set.Has(7) {
		set = set&^crontime.Of(7) | crontime.Of(0)
	}
	return set, nil
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// schedules adds the schedules of a job, which launch a template.
func (r *reader) schedules(j *job, template string) {
	for i, t := range j.timers {
		ref := fmt.Sprintf("%s#TimerTrigger[%d]", j.ref, i)
		if t.err != nil {
			r.b.Skip("schedule", j.full, ref, "The expression %q is not written: %s.", cut(t.line, 100), t.err)
			continue
		}
		cron, ok := t.spec.Unix()
		if !ok {
			r.b.Skip("schedule", j.full, ref, "The expression %q is not written: both the day of the month and the day of the "+
				"week have to match, which cron cannot say.", cut(t.line, 100))
			continue
		}
		o := r.b.Add(importer.Object{
			Kind: importer.Schedule, Name: r.b.Name(importer.Schedule, j.name), Ref: ref,
			Spec: &importer.ScheduleSpec{Cron: cron, Timezone: t.zone, Enabled: !j.off, Template: template, Overlap: "queue"},
		})
		draft.Map(o, "The expression %q became the cron expression %q.", cut(t.line, 100), cron)
		if loc, err := t.location(r.export.Now); err == nil {
			o.Fires = t.spec.Next(r.export.Now, loc, importer.MaxFires)
		}
		if t.zone == "" {
			draft.Map(o, "The times are those of the clock of the server.")
		}
		if t.hashed {
			warn(o, "spec", "Jenkins chooses the times for H by the name of the job, and so does this import, but other "+
				"ones: %s.", cron)
		}
		if j.off {
			draft.Map(o, "The job is disabled, so the schedule is too.")
		}
	}
}

// triggers reads what starts a job.
func (w *work) triggers(list *document.Element) {
	for _, e := range children(list) {
		class := className(e.Name)
		switch name := simple(e.Name); name {
		case "TimerTrigger":
			if len(w.j.timers) == maxTimers {
				need(w.o, short(e.Name), "There are more than %d expressions; the others are left out.", maxTimers)
				continue
			}
			more := timers(e.Value("spec"), w.j.full)
			if free := maxTimers - len(w.j.timers); len(more) > free {
				more = more[:free]
				need(w.o, short(e.Name), "There are more than %d expressions; the others are left out.", maxTimers)
			}
			w.j.timers = append(w.j.timers, more...)
			w.rest(e, "spec")
		case "ReverseBuildTrigger":
			on, exact := threshold(e.Value("threshold", "name"))
			for _, up := range names(e.Value("upstreamProjects")) {
				w.j.before = append(w.j.before, edge{job: up, on: on, exact: exact})
			}
			w.rest(e, "spec", "upstreamProjects", "threshold")
		case "SCMTrigger":
			w.lose(e, "Polling of the repository is left out; let a trigger of the template start it on a push.")
		default:
			if strings.Contains(strings.ToLower(class), "push") || strings.Contains(strings.ToLower(class), "webhook") {
				w.lose(e, "The trigger %s is left out; let a trigger of the template start it on a push.", name)
			} else {
				w.lose(e, "The trigger %s has no counterpart and is left out.", name)
			}
		}
	}
}
