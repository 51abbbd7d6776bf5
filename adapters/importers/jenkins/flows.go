package jenkins

import (
	"path"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
)

// edge is a job that starts when another ends, or the other one. Exact tells that on says all of the condition.
type edge struct {
	job   string
	on    string
	exact bool
}

// threshold returns when a job starts after the one with the worst result that counts.
func threshold(result string) (on string, exact bool) {
	switch strings.ToUpper(result) {
	case "SUCCESS", "":
		return "success", true
	case "UNSTABLE":
		return "success", false
	case "FAILURE":
		return "always", true
	case "ABORTED", "NOT_BUILT":
		return "always", false
	}
	return "", false
}

// names returns the names of a list with commas.
func names(list string) []string {
	var out []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" && len(n) < 1000 && len(out) < maxSteps && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// downstream reads which jobs start after a build.
func (w *work) downstream(e *document.Element) {
	if list := e.Child("childProjects"); list != nil {
		on, exact := threshold(e.Value("threshold", "name"))
		for _, n := range names(list.Text) {
			w.j.after = append(w.j.after, edge{job: n, on: on, exact: exact})
		}
		w.rest(e, "childProjects", "threshold")
		return
	}
	for _, c := range children(e.Child("configs")) {
		on, exact := "", false
		switch c.Value("condition") {
		case "SUCCESS":
			on, exact = "success", true
		case "UNSTABLE_OR_BETTER":
			on = "success"
		case "FAILED":
			on, exact = "failure", true
		case "UNSTABLE_OR_WORSE":
			on = "failure"
		case "ALWAYS":
			on, exact = "always", true
		}
		for _, n := range names(c.Value("projects")) {
			w.j.after = append(w.j.after, edge{job: n, on: on, exact: exact})
		}
		w.rest(c, "condition", "projects", "triggerWithNoParameters", "triggerFromChildProjects")
	}
	w.rest(e, "configs")
}

// phase adds the jobs of a phase as steps that start together.
func (w *work) phase(e *document.Element) {
	g := group{}
	for _, c := range children(e.Child("phaseJobs")) {
		if name := c.Value("jobName"); name != "" {
			s := step{calls: name}
			s.Name = unique(append(slices.Clone(w.j.parts), g), base(name))
			g.steps = append(g.steps, s)
		}
		w.rest(c, "jobName", "jobAlias", "currParams", "exposedSCM", "disableJob", "killPhaseOnJobResultCondition",
			"buildOnlyIfSCMChanges", "applyConditionOnlyIfNoSCMChanges", "maxRetries", "enableRetryStrategy", "abortAllJob")
		if c.Value("disableJob") == "true" {
			need(w.o, "phaseJobs", "The job %s is disabled in its phase; it is a step here.", cut(c.Value("jobName"), 100))
		}
	}
	if len(g.steps) == 0 {
		w.missing(e, "MultiJob phase", " because it names no job")
		return
	}
	w.addGroup(g)
	switch e.Value("continuationCondition") {
	case "", "SUCCESSFUL":
	case "UNSTABLE":
		warn(w.o, "continuationCondition", "There is no unstable result; the next phase starts after success.")
	default:
		need(w.o, "continuationCondition", "The next phase starts after success alone; set when its steps start.")
	}
	w.rest(e, "phaseName", "phaseJobs", "continuationCondition", "executionType")
}

// addGroup adds steps that start together.
func (w *work) addGroup(g group) {
	if len(w.j.parts) <= maxSteps {
		w.j.parts = append(w.j.parts, g)
	}
}

// callJobs adds steps for the jobs that a build step starts.
func (w *work) callJobs(e *document.Element) {
	added := false
	for _, c := range children(e.Child("configs")) {
		g := group{}
		for _, n := range names(c.Value("projects")) {
			s := step{calls: n}
			s.Name = unique(append(slices.Clone(w.j.parts), g), base(n))
			g.steps = append(g.steps, s)
		}
		if len(g.steps) > 0 {
			w.addGroup(g)
			added = true
		}
		if c.Child("block") == nil {
			warn(w.o, short(e.Name), "The build does not wait for the jobs that it starts; the workflow does.")
		}
		w.rest(c, "projects", "condition", "block", "triggerWithNoParameters", "buildAllNodesWithLabel")
	}
	if !added {
		w.missing(e, "TriggerBuilder", " because it names no job")
	}
}

// find returns the job that a name means in the folder of another one, nil if it has no template.
func (r *reader) find(from *job, name string) *job {
	full := strings.TrimPrefix(path.Clean("/"+name), "/")
	if !strings.HasPrefix(name, "/") {
		if near := strings.TrimPrefix(path.Clean("/"+path.Dir(from.full)+"/"+name), "/"); r.byName[near] != nil {
			full = near
		}
	}
	if j := r.byName[full]; j != nil && j.o != nil {
		return j
	}
	return nil
}

// finish completes the templates and adds what connects them.
func (r *reader) finish() {
	for _, j := range r.jobs {
		if j.o == nil {
			continue
		}
		for _, e := range j.before {
			if up := r.find(j, e.job); up != nil {
				up.after = append(up.after, edge{job: "/" + j.full, on: e.on, exact: e.exact})
			} else {
				need(j.o, "upstreamProjects", "The job %s, which starts this one, is not in the export.", cut(e.job, 100))
			}
		}
		r.calls(j)
		j.fill()
	}
	started := map[*job]bool{}
	next := map[*job][]link{}
	for _, j := range r.jobs {
		if j.o != nil {
			next[j] = r.links(j, started)
		}
	}
	for _, j := range r.jobs {
		if j.o == nil {
			continue
		}
		template := j.name
		if len(next[j]) > 0 && (!started[j] || len(j.timers) > 0) {
			template = r.flow(j, next)
			warn(j.o, "childProjects", "A run of the template starts no other job; launch the workflow %s for that.", template)
		}
		r.schedules(j, template)
	}
}

// calls replaces the names of jobs in steps by those of their templates.
func (r *reader) calls(j *job) {
	for gi := range j.parts {
		for si := range j.parts[gi].steps {
			s := &j.parts[gi].steps[si]
			if s.calls == "" {
				continue
			}
			called := r.find(j, s.calls)
			switch {
			case called == nil || called == j:
				s.Tool, s.Command = "bash", failure("The job of this step is not known.")
				need(j.o, s.Name, "The job %s, which a step starts, is not in the export; the step fails.", cut(s.calls, 100))
			case slices.ContainsFunc(called.parts, func(g group) bool {
				return len(called.parts) > 1 || len(g.steps) > 1 || g.steps[0].calls != ""
			}):
				s.Tool, s.Command = "bash", failure("The job of this step is a workflow.")
				need(j.o, s.Name, "The job %s has several steps, and a step starts no workflow; the step fails.",
					cut(s.calls, 100))
			default:
				s.Template = called.name
			}
		}
	}
}

// link is an edge between two jobs of the export.
type link struct {
	to    *job
	on    string
	exact bool
}

// links returns the jobs that start after a job.
func (r *reader) links(j *job, started map[*job]bool) []link {
	var out []link
	for _, e := range j.after {
		to := r.find(j, e.job)
		switch {
		case to == nil:
			need(j.o, "childProjects", "The job %s, which starts after this one, is not in the export.", cut(e.job, 100))
		case e.on == "":
			need(j.o, "childProjects", "The condition after which the job %s starts is not known; it is left out.", to.name)
		case slices.ContainsFunc(out, func(l link) bool { return l.to == to }):
		default:
			out = append(out, link{to, e.on, e.exact})
			started[to] = true
		}
	}
	return out
}
