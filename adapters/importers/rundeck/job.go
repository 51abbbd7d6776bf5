package rundeck

import (
	"path"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// job is a job of an export. Its object collects what is said about it.
type job struct {
	r                             *reader
	ref, id, name, group, project string
	object                        *importer.Object
	spec                          *importer.TemplateSpec
	options                       []*option
	nodes                         nodes
	steps                         []*command
	keepGoing                     bool
	parallel                      bool
	retries                       int
	single                        bool   // its template has no steps
	reason                        string // why there is no template
	several                       bool   // runs of the job may overlap
	enabled                       bool   // runs of the job are allowed
	schedule                      fields
	scheduled                     bool
	zone                          string

	credentials []string
	noted       map[string]bool // messages about texts that were given
}

// job reads a job and adds it to the list, or skips it with the reason.
func (r *reader) job(ref string, f fields) {
	name := f.text("name")
	sequence := f.object("sequence")
	switch {
	case f == nil:
		r.draft.Skip("job", ref, ref, "it is no job, which has a name and a sequence")
		return
	case name == "":
		r.draft.Skip("job", ref, ref, "the job has no name")
		return
	case !set(sequence["commands"]):
		r.draft.Skip("job", name, ref, "the job has no steps")
		return
	}
	j := &job{r: r, ref: ref, name: name, group: strings.Trim(f.text("group"), "/"), project: r.project, enabled: true}
	if project := f.text("project"); project != "" {
		j.project = project
	}
	j.id = f.text("uuid")
	if id := f.text("id"); j.id == "" {
		j.id = id
	}
	j.spec = &importer.TemplateSpec{Inventory: r.inventory}
	j.object = &importer.Object{Kind: importer.Template, Name: r.draft.Name(importer.Template, path.Join(j.group, name)),
		Ref: ref, Class: importer.Same, Spec: j.spec}
	r.identify(j)
	j.read(r, f, sequence)
	r.jobs = append(r.jobs, j)
}

// identify makes a job known to references. Of several with one id or name the first is meant.
func (r *reader) identify(j *job) {
	if r.byID == nil {
		r.byID, r.byName = map[string]*job{}, map[string]*job{}
	}
	if j.id != "" && r.byID[j.id] == nil {
		r.byID[j.id] = j
	} else if j.id != "" {
		j.warn("uuid", "another job of the export has the same id, and references by it mean that one")
	}
	full := path.Join(j.group, j.name)
	if r.byName[full] == nil {
		r.byName[full] = j
	} else {
		j.warn("name", "another job of the export has the same group and name, so this one is renamed")
	}
}

func (j *job) warn(field, format string, args ...any) { draft.Warn(j.object, field, format, args...) }
func (j *job) need(field, format string, args ...any) { draft.Need(j.object, field, format, args...) }
func (j *job) say(format string, args ...any)         { draft.Map(j.object, format, args...) }

// lost warns of the members that were not read, of the object at a place of the export.
func (j *job) lost(f fields, at string) { lost(j.object, f, at) }

func lost(o *importer.Object, f fields, at string) {
	for _, name := range f.rest() {
		shown := oneLine(name)
		if !exactName.MatchString(shown) {
			shown = strconv.Quote(shown)
		}
		draft.Warn(o, strings.TrimPrefix(at+"."+shown, "."), "%s is not kept: it has no counterpart", shown)
	}
}

func (j *job) read(r *reader, f, sequence fields) {
	if j.object.Name != j.name {
		j.say("The job is the template %q, named after its group and its name.", j.object.Name)
	}
	if set(f.take("description")) {
		j.warn("description", "the description is not kept: templates have none")
	}
	if level := f.text("loglevel"); level != "" && !strings.EqualFold(level, "INFO") {
		j.warn("loglevel", "the log level %s is not kept: the log of a run has all of its output", oneLine(level))
	}
	j.execution(f)
	j.readOptions(r, f.take("options"))
	j.readNodes(f.object("nodefilters"))
	j.limits(f)
	j.schedule, j.zone = f.object("schedule"), f.text("timeZone")
	j.scheduled = f.flag("scheduleEnabled", true)
	if set(f.take("schedules")) {
		j.warn("schedules", "schedules that are defined in the project are not part of a job, and are not kept")
	}
	j.notifications(f.object("notification"))
	j.sequence(sequence)
	if selector := f.object("runnerSelector"); set(selector) && selector.text("runnerFilterMode") != "LOCAL" {
		j.need("runnerSelector", "the job selects a runner: give the template a queue that the right executors serve")
	}
	if f.flag("nodeFilterEditable", false) && j.nodes.remote {
		j.warn("nodeFilterEditable", "nobody chooses other hosts at a launch: they are in the command")
	}
	f.drop("defaultTab", "averageDuration", "dateCreated", "lastUpdated", "href", "permalink", "nodesSelectedByDefault")
	j.lost(f, "")
}

// execution reads what happens to runs that overlap, and whether runs are allowed.
func (j *job) execution(f fields) {
	if j.enabled = f.flag("executionEnabled", true); !j.enabled {
		j.warn("executionEnabled", "executions of the job are disabled in Rundeck; the template can be launched")
	}
	most, queued := f.text("maxMultipleExecutions"), f.flag("jobQueueEnabled", false)
	f.drop("jobQueueSizeLimit")
	if j.several = f.flag("multipleExecutions", false); j.several {
		n, _ := strconv.Atoi(most)
		if n = max(n, 0); n > runs.MaxConcurrent {
			n = 0
		}
		j.spec.MaxConcurrent = &n
		if n == 0 {
			j.say("Multiple executions: any number of its runs execute at a time.")
		} else {
			j.say("Multiple executions: at most %d of its runs execute at a time.", n)
		}
		if strings.Contains(most, "$") {
			j.warn("maxMultipleExecutions", "the number of executions comes from an option; any number is allowed")
		}
	}
	switch {
	case queued:
		j.spec.WhenBusy = string(runs.BusyQueue)
		j.say("A launch while the job is busy waits.")
	case !j.several || *j.spec.MaxConcurrent > 0:
		j.spec.WhenBusy = string(runs.BusySkip)
		j.say("A launch while the job is busy is refused, as in Rundeck.")
	}
}

// maxSeconds is the longest timeout that the server accepts, and maxRetries the most retries.
const (
	maxSeconds = 1<<31 - 1
	maxRetries = 100
)

// limits reads the timeout and the retries.
func (j *job) limits(f fields) {
	if text := f.text("timeout"); text != "" && text != "0" {
		seconds, ok := duration(text)
		switch {
		case !ok:
			j.warn("timeout", "the timeout %q is no plain time, so that of the server applies", oneLine(text))
		default:
			j.spec.Timeout = seconds
			j.say("The timeout is %s.", draft.Count(seconds, "second"))
		}
	}
	retry := f.take("retry")
	count := plainText(retry)
	if o := asFields(retry); o != nil {
		count = o.text("retry")
		if delay := o.text("delay"); delay != "" && delay != "0" {
			j.warn("retry.delay", "the delay before a retry is not kept: retries start at once")
		}
	}
	switch n, err := strconv.Atoi(strings.TrimSpace(count)); {
	case count == "" || err == nil && n <= 0:
	case err != nil || n > maxRetries:
		j.warn("retry", "the number of retries is no number up to %d, so the template does not retry", maxRetries)
	default:
		j.retries = n
	}
}

var durationPart = lazyregexp.New(`^\s*(\d{1,9})\s*([a-zA-Z]*)`)

// duration returns the seconds of a time such as "2d 3h", "90" or "1h30m".
func duration(text string) (int, bool) {
	units := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'y': 365 * 86400}
	total := 0
	for text = strings.ToLower(strings.TrimSpace(text)); text != ""; {
		m := durationPart.FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		n, _ := strconv.Atoi(m[1])
		unit := 1
		if m[2] != "" {
			if unit = units[m[2][0]]; unit == 0 {
				return 0, false
			}
		}
		if total += n * unit; total > maxSeconds {
			return 0, false
		}
		text = strings.TrimSpace(text[len(m[0]):])
	}
	return total, total > 0
}
