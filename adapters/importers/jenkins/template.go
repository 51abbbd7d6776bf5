package jenkins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/runs"
)

// work is a job that becomes a template.
type work struct {
	*reader
	j         *job
	o         *importer.Object
	t         *importer.TemplateSpec
	exports   []export // what scripts find in their environment
	vars      map[string]string
	axes      []axis
	inOrder   bool // the combinations of the axes
	throttled bool // the number of concurrent builds was read
}

// group is a list of steps that start together, after the group before ended as On says.
type group struct {
	on    string
	steps []step
}

// step is a build step.
type step struct {
	importer.Step
	calls string   // the job that it starts, instead of a tool
	after []string // the steps before it, nil for those of the group before
	// What only a template without steps can have.
	inventoryPath    string
	forks, verbosity int
}

// template adds the template of a job.
func (r *reader) template(j *job, root *document.Element) {
	limit := 1
	t := &importer.TemplateSpec{Inventory: r.export.Inventory, MaxConcurrent: &limit}
	o := r.b.Add(importer.Object{Kind: importer.Template, Name: j.name, Ref: j.ref})
	j.o, j.t = o, t
	w := &work{reader: r, j: j, o: o, t: t, vars: map[string]string{}}
	if j.name != j.full {
		warn(o, "name", "The name of the job is not possible here and was changed.")
	}
	pipeline := className(root.Name) == "flow-definition"
	if pipeline {
		*t.MaxConcurrent = 0
	}
	seen := map[string]bool{}
	var late []*document.Element
	for _, e := range root.Children {
		switch {
		case seen[e.Name] && isSet(e):
			w.lose(e, "The member occurs twice; the second is left out.")
		case seen[e.Name]:
		case slices.Contains([]string{"prebuilders", "builders", "postbuilders", "goals", "definition"}, e.Name):
			late = append(late, e) // They need the parameters and the environment.
		default:
			w.member(e)
		}
		seen[e.Name] = true
	}
	w.buildSteps(root, late)
	if len(w.axes) > 0 {
		w.matrix()
	}
}

// buildSteps reads what a job executes.
func (w *work) buildSteps(root *document.Element, members []*document.Element) {
	at := func(name string) *document.Element {
		i := slices.IndexFunc(members, func(e *document.Element) bool { return e.Name == name })
		if i < 0 {
			return nil
		}
		return members[i]
	}
	for _, e := range children(at("prebuilders")) {
		w.builder(e)
	}
	if root.Name == "maven2-moduleset" {
		w.maven(root)
	} else if e := at("goals"); e != nil && isSet(e) {
		w.lose(e, "The member has no counterpart and is left out.")
	}
	for _, e := range append(children(at("builders")), children(at("postbuilders"))...) {
		w.builder(e)
	}
	if e := at("definition"); e != nil || className(root.Name) == "flow-definition" {
		w.pipeline(e)
	}
	if len(w.j.parts) == 0 {
		w.add("Nothing", step{Step: importer.Step{Tool: "bash", Command: "true"}})
		warn(w.o, "builders", "The job has no build steps, so the template succeeds without doing anything.")
	}
}

// member reads a member of a job.
func (w *work) member(e *document.Element) {
	switch e.Name {
	case "actions", "keepDependencies", "canRoam", "displayName", "displayNameOrNull", "nextBuildNumber", "rootModule",
		"rootPOM", "mavenOpts", "mavenName", "owner":
	case "description":
		if isSet(e) {
			warn(w.o, e.Name, "Templates have no description; the text is left out.")
		}
	case "disabled":
		if w.j.off = isSet(e); w.j.off {
			warn(w.o, e.Name, "The job is disabled; the template can be launched, but its schedules are disabled.")
		}
	case "properties":
		for _, p := range e.Children {
			w.property(p)
		}
	case "parameterDefinitions":
		w.parameters(e)
	case "scm":
		w.project(e)
	case "triggers":
		w.triggers(e)
	case "publishers", "reporters":
		for _, p := range e.Children {
			w.publisher(p)
		}
	case "buildWrappers":
		for _, p := range e.Children {
			w.wrapper(p)
		}
	case "axes":
		w.readAxes(e)
	case "executionStrategy":
		w.inOrder = isSet(e.Child("runSequentially"))
		w.rest(e, "runSequentially")
	case "concurrentBuild":
		if isSet(e) && !w.throttled {
			*w.t.MaxConcurrent = 0
			draft.Map(w.o, "Builds may run at the same time, so any number of runs may.")
		}
	case "assignedNode":
		w.label(strings.TrimSpace(e.Text), e.Name)
	case "jdk":
		if v := strings.TrimSpace(e.Text); v != "" && v != "(Default)" && v != "(System)" {
			w.lose(e, "The choice of a JDK is left out; scripts find the one of the executor.")
		}
	case "authToken":
		if isSet(e) {
			warn(w.o, e.Name, "The token for remote builds is left out; create a trigger of the template, or an API token.")
		}
	case "logRotator":
		w.lose(e, "How long builds are kept is left out; the server keeps runs by its own settings.")
	default:
		if isSet(e) {
			w.lose(e, "The member has no counterpart and is left out.")
		}
	}
}

// label makes a queue of the label of the nodes on which a job runs.
func (w *work) label(label, field string) {
	switch {
	case label == "":
	case validQueue(label):
		w.t.Queue = label
		need(w.o, field, "The label of the nodes became the queue %s; start a worker for it, or change the queue.", label)
	default:
		need(w.o, field, "The label is an expression; choose a queue, and start a worker for it.")
	}
}

func validQueue(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._:/-", c)) {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// lose warns about a part of a job that is left out.
func (w *work) lose(e *document.Element, text string, args ...any) {
	warn(w.o, short(e.Name), text, args...)
}

// rest warns about the members of an element that are set and not in known.
func (w *work) rest(e *document.Element, known ...string) { w.restAt(short(e.Name), e, known...) }

func (w *work) restAt(field string, e *document.Element, known ...string) {
	for _, c := range e.Children {
		if isSet(c) && !slices.Contains(known, c.Name) {
			warn(w.o, field+"/"+short(c.Name), "The setting %s of %s is left out.", short(c.Name), simple(e.Name))
		}
	}
}

// add adds a step after all others, with a name that no step has.
func (w *work) add(name string, s step) {
	if len(w.j.parts) <= maxSteps { // One more is too many.
		s.Name = unique(w.j.parts, name)
		w.j.parts = append(w.j.parts, group{steps: []step{s}})
	}
}

// unique returns a name that no step has.
func unique(parts []group, name string) string {
	taken := map[string]bool{}
	for _, g := range parts {
		for _, s := range g.steps {
			taken[s.Name] = true
		}
	}
	name = cut(name, 150)
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s %d", name, n)
	}
	return free
}

const maxSteps = 256 // of a workflow

// fill puts the steps into the template: the only one as itself, and several as a workflow.
func (j *job) fill() {
	t, o := j.t, j.o
	total := 0
	for _, g := range j.parts {
		total += len(g.steps)
	}
	if only := j.parts[0].steps[0]; total == 1 && only.Template == "" {
		s := only.Step
		t.Tool, t.Playbook, t.Command, t.ExtraVars = s.Tool, s.Playbook, s.Command, s.ExtraVars
		t.Limit, t.Tags, t.SkipTags = s.Limit, s.Tags, s.SkipTags
		t.Forks, t.Verbosity = only.forks, only.verbosity
		if s.Inventory != "" {
			t.Inventory = s.Inventory
		}
		if t.Inventory == "" || only.inventoryPath != "" {
			t.InventoryPath = only.inventoryPath
		}
		if t.InventoryPath != "" {
			t.Inventory = ""
		}
		t.Credentials = append(t.Credentials, s.Credentials...)
		t.Credentials = distinct(t.Credentials)
		o.Spec = t
		return
	}
	if total > maxSteps {
		j.tooMany(total)
		return
	}
	j.graph()
	draft.Map(o, "The build steps became the steps of a workflow.")
	warn(o, "builders", "Each step runs in a directory of its own: files that a step writes do not reach the next.")
	o.Spec = t
}

// tooMany leaves a job with too many steps to somebody.
func (j *job) tooMany(total int) {
	j.t.Tool, j.t.Command = "bash", failure("This job has too many steps for one workflow.")
	need(j.o, "builders", "The job has %d steps, more than %d; split it. Until then the template fails.", total, maxSteps)
	j.o.Spec = j.t
}

// graph puts the steps into the template as a graph. Without dependencies steps run in their order.
func (j *job) graph() {
	parts := j.parts
	ordered := !slices.ContainsFunc(parts, func(g group) bool { return len(g.steps) > 1 || g.on != "" })
	if !ordered && len(parts[0].steps) > 1 {
		first := step{Step: importer.Step{Name: unique(parts, "Start"), Tool: "bash", Command: "true"}}
		parts = slices.Insert(slices.Clone(parts), 0, group{steps: []step{first}})
	}
	var before []string
	for _, g := range parts {
		var here []string
		for _, s := range g.steps {
			if !ordered {
				s.DependsOn, s.On = before, g.on
				if s.after != nil {
					s.DependsOn = s.after
				}
			}
			if s.forks != 0 || s.verbosity != 0 {
				warn(j.o, s.Name, "Steps have no forks and no verbosity; these settings are left out.")
			}
			if s.inventoryPath != "" {
				j.shareInventory(s)
			}
			s.Credentials = distinct(s.Credentials)
			if len(s.Credentials) > 0 {
				s.Credentials = distinct(append(slices.Clone(j.t.Credentials), s.Credentials...))
			}
			j.t.Steps = append(j.t.Steps, s.Step)
			here = append(here, s.Name)
		}
		before = here
	}
}

// shareInventory makes the path of a step's inventory that of the workflow.
func (j *job) shareInventory(s step) {
	if j.t.InventoryPath == "" || j.t.InventoryPath == s.inventoryPath {
		j.t.InventoryPath, j.t.Inventory = s.inventoryPath, ""
		return
	}
	need(j.o, s.Name, "The steps have different inventory files; create inventories of them, and choose one for the step.")
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// failure returns a script that fails with a text.
func failure(text string) string {
	return "echo " + quote(text) + " >&2\nexit 1\n"
}

// quote returns a text as a word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// allowed returns a number of runs that the server accepts.
func allowed(n int) bool { return n > 0 && n <= runs.MaxConcurrent }
