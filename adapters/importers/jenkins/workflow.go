package jenkins

import (
	"slices"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// flow is a workflow of a job and those that start after it.
type flow struct {
	*reader
	o    *importer.Object
	t    importer.TemplateSpec
	jobs map[*job]member
}

// member is a job in a workflow: the places of its first steps, and the names of its last and of all its steps.
type member struct {
	first     []int
	last, all []string
	on        string
}

// flow adds a workflow of a job and those that start after it, and returns its name.
func (r *reader) flow(start *job, next map[*job][]link) string {
	o := r.b.Add(importer.Object{
		Kind: importer.Template, Name: r.b.Name(importer.Template, start.name+" and the jobs after it"), Ref: start.ref,
		Class: importer.Adapted,
	})
	draft.Map(o, "The jobs that start after others became a workflow of their templates.")
	f := &flow{reader: r, o: o, jobs: map[*job]member{}, t: importer.TemplateSpec{
		Survey: start.t.Survey, MaxConcurrent: start.t.MaxConcurrent, Inventory: start.t.Inventory,
	}}
	f.add(start, "", nil, len(start.t.Survey) > 0)
	lost := 0
	for queue := []*job{start}; len(queue) > 0; queue = queue[1:] {
		for _, l := range next[queue[0]] {
			added, ok := f.link(queue[0], l)
			if added {
				queue = append(queue, l.to)
			}
			if ok {
				continue
			}
			if lost++; lost <= 20 {
				need(o, "childProjects", "The start of %s after %s is left out: it closes a circle, or has another condition "+
					"than its start after another job, or the workflow is too large.", l.to.name, queue[0].name)
			}
		}
	}
	if lost > 20 {
		need(o, "childProjects", "%s more are left out.", draft.Count(lost-20, "start"))
	}
	o.Spec = &f.t
	return o.Name
}

// link makes a job start after another one. It returns whether the job is new to the workflow, and false if that cannot
// be said.
func (f *flow) link(from *job, l link) (added, ok bool) {
	before := f.jobs[from].last
	if l.on != "success" {
		before = f.jobs[from].all // A step that was skipped counts for neither.
	}
	m, known := f.jobs[l.to]
	switch {
	case !f.grow(1 << 10): // The work of a link counts too.
		return false, false
	case !known && (len(f.t.Steps)+max(1, len(l.to.t.Steps)) > maxSteps || !f.grow(l.to.size())):
		return false, false
	case !known:
		f.add(l.to, l.on, before, false)
	case m.on != l.on || f.reaches(m.all, before):
		return false, false
	default:
		for _, i := range m.first {
			f.t.Steps[i].DependsOn = distinct(append(slices.Clone(f.t.Steps[i].DependsOn), before...))
		}
		warn(f.o, l.to.name, "It starts once, when all jobs before it ended; Jenkins starts it after each of them.")
	}
	if !l.exact {
		warn(f.o, l.to.name, "The workflow knows no unstable results, which the condition of its start names.")
	}
	return !known, true
}

// size returns about how large the steps of a job are in a workflow.
func (j *job) size() int {
	n := 1 << 10
	for i := range j.t.Steps {
		n += 1<<10 + len(j.t.Steps[i].Command)
	}
	return n
}

// add adds the steps of a job after others: one that launches its template, or those of the template if it is a
// workflow itself or has the questions of the workflow.
func (f *flow) add(j *job, on string, before []string, inline bool) {
	steps := []importer.Step{{Template: j.name}}
	switch {
	case len(j.t.Steps) > 0:
		steps = f.inline(j, j.t.Steps)
	case inline:
		steps = f.inline(j, []importer.Step{{
			Tool: j.t.Tool, Playbook: j.t.Playbook, Command: j.t.Command, Inventory: j.t.Inventory, ExtraVars: j.t.ExtraVars,
			Limit: j.t.Limit, Tags: j.t.Tags, SkipTags: j.t.SkipTags,
		}})
	}
	m := member{on: on}
	inner := map[string]string{}
	for i, s := range steps {
		name := j.name
		if s.Name != "" {
			name = cut(j.name+": "+s.Name, 190)
		}
		inner[s.Name] = f.free(name)
		s.Name = inner[s.Name]
		switch deps := s.DependsOn; {
		case len(deps) > 0:
			s.DependsOn = nil
			for _, d := range deps {
				s.DependsOn = append(s.DependsOn, inner[d])
			}
		case i > 0 && !graph(steps):
			s.DependsOn = []string{m.all[i-1]}
		default:
			s.DependsOn, s.On = before, on
			m.first = append(m.first, len(f.t.Steps))
		}
		m.all = append(m.all, s.Name)
		f.t.Steps = append(f.t.Steps, s)
	}
	for _, name := range m.all {
		if !slices.ContainsFunc(f.t.Steps, func(s importer.Step) bool { return slices.Contains(s.DependsOn, name) }) {
			m.last = append(m.last, name)
		}
	}
	for _, n := range j.t.Notifications {
		if !slices.Contains(f.t.Notifications, n) {
			f.t.Notifications = append(f.t.Notifications, n)
			warn(f.o, j.name, "Its notifications are those of the whole workflow.")
		}
	}
	f.jobs[j] = m
}

func graph(steps []importer.Step) bool {
	return slices.ContainsFunc(steps, func(s importer.Step) bool { return len(s.DependsOn) > 0 })
}

// inline returns steps of a job with the settings that they have from its template.
func (f *flow) inline(j *job, steps []importer.Step) []importer.Step {
	out := slices.Clone(steps)
	for i := range out {
		s := &out[i]
		if s.Template != "" {
			continue
		}
		s.Project, s.Queue, s.Timeout = j.t.Project, j.t.Queue, j.t.Timeout
		if s.Inventory == "" {
			s.Inventory = j.t.Inventory
		}
		if s.Credentials == nil {
			s.Credentials = j.t.Credentials
		}
		if f.o.Ref == j.ref {
			continue
		}
		for _, q := range j.t.Survey { // Jenkins starts the job with the defaults.
			if q.Default == nil {
				continue
			}
			vars := map[string]any{q.Var: q.Default}
			for k, v := range s.ExtraVars {
				vars[k] = v
			}
			s.ExtraVars = vars
		}
	}
	if j.t.InventoryPath != "" {
		need(f.o, j.name, "Its steps have an inventory file, which steps cannot have; choose an inventory.")
	}
	if j.t.Forks != 0 || j.t.Verbosity != 0 {
		warn(f.o, j.name, "Steps have no forks and no verbosity; these settings are left out.")
	}
	return out
}

// free returns a name that no step has.
func (f *flow) free(name string) string {
	free := name
	for n := 2; slices.ContainsFunc(f.t.Steps, func(s importer.Step) bool { return s.Name == free }); n++ {
		free = name + " " + itoa(n)
	}
	return free
}

// reaches reports whether one of some steps comes after one of others, or is one.
func (f *flow) reaches(targets, from []string) bool {
	before := make(map[string][]string, len(f.t.Steps))
	for _, s := range f.t.Steps {
		before[s.Name] = s.DependsOn
	}
	seen := map[string]bool{}
	for stack := slices.Clone(from); len(stack) > 0; {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if slices.Contains(targets, name) {
			return true
		}
		if !seen[name] {
			seen[name] = true
			stack = append(stack, before[name]...)
		}
	}
	return false
}
