package awx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// Bounds of a workflow: the steps are those of the server, and the nodes those that are looked at.
const (
	maxSteps = 256
	maxNodes = 2000
)

func (x *reader) workflow(e *entry, r *record) {
	related := r.child("related")
	defer x.nested(e, related)
	list := related.list("workflow_nodes")
	if len(list) == 0 || len(list) > maxNodes {
		x.Skip("workflow_job_template", e.name, e.ref, "The workflow has no nodes, or more than %d.", maxNodes)
		return
	}
	o := x.put(e, importer.Template)
	r.described(o)
	spec := importer.TemplateSpec{Steps: make([]importer.Step, 1)} // so that it is a workflow
	spec.ExtraVars = x.variables(o, "extra_vars", r.take("extra_vars"))
	x.common(o, e, &spec, r, related)
	x.notify(o, &spec, x.attached(r.ref, related), x.parent(e))
	vars := map[string]bool{}
	for name := range spec.ExtraVars {
		vars[name] = true
	}
	for _, q := range spec.Survey {
		vars[q.Var] = true
	}
	g := &graph{x: x, object: o, flow: r, vars: vars, names: map[string]bool{}}
	reason := g.read(list)
	if reason == "" {
		g.connect()
		reason = g.build()
	}
	if reason != "" {
		o.Kind = importer.Kind(e.kind)
		lose(o, "%s", reason)
		for _, key := range g.copies {
			lose(x.copies[key], "It is a copy for a workflow that is not imported.")
			delete(x.copies, key)
		}
		return
	}
	spec.Steps = g.ordered()
	draft.Map(o, "%s became %s.", draft.Count(len(list), "node"), draft.Count(len(spec.Steps), "step"))
	for _, member := range []string{"inventory", "limit", "job_tags", "skip_tags", "scm_branch"} {
		if v := r.take(member); !blank(v) {
			draft.Map(o, "%s is given to the steps whose templates ask for it, as before.", member)
		}
	}
	x.foreign(o, r)
	o.Spec = &spec
	e.template.spec = spec
	r.rest(o, "")
	related.rest(o, "related.")
}

// sort of a node.
type sort int

const (
	job      sort = iota // a step that launches a template
	passed               // nothing: what follows it follows what is before it
	approval             // a step that waits for an approval
	lost                 // what has no counterpart, so that nothing follows it
)

// node is a node of a workflow.
type node struct {
	own     *record
	at      string // its place, for warnings
	name    string
	sort    sort
	holds   bool // the steps after it wait for an approval
	all     bool // all edges to it have to be taken, and not only one
	edges   []edge
	next    map[string]int // the number of edges from it, by their outcome
	target  *entry
	missing bool // its template is not in the export
	conds   []cond
	steps   []int // what it became
}

// place returns the member of the export that is the node.
func (n *node) place() string { return strings.TrimSuffix(n.at, ".") }

// edge leads from a node that ended with an outcome.
type edge struct {
	from    int
	outcome string
}

// read makes the nodes of the workflow and their edges.
func (g *graph) read(list []any) (reason string) {
	index := map[string]int{}
	for i, v := range list {
		r := newRecord(fmt.Sprintf("%s.related.workflow_nodes[%d]", g.object.Ref, i), v)
		n := &node{own: r, at: fmt.Sprintf("related.workflow_nodes[%d].", i), all: r.flag("all_parents_must_converge"),
			next: map[string]int{}}
		g.nodes = append(g.nodes, n)
		id := text(r.values["identifier"])
		if id == "" {
			id = text(r.values["id"])
		}
		if _, ok := index[id]; ok && id != "" {
			return fmt.Sprintf("Two nodes have the identifier %s.", shown(id))
		}
		index[id] = i
		g.kind(n)
	}
	for i, n := range g.nodes {
		related := newRecord("", n.own.values["related"])
		for _, outcome := range []string{"success", "failure", "always"} {
			to := append(related.list(outcome+"_nodes"), n.own.list(outcome+"_nodes")...)
			for _, key := range to {
				m, _ := key.(map[string]any)
				id := text(key)
				if m != nil {
					id = text(m["identifier"])
				}
				j, ok := index[id]
				if !ok || id == "" {
					draft.Need(g.object, n.at+"related."+outcome+"_nodes", "An edge to a node that is not in the export is left out.")
				} else if e := (edge{i, outcome}); !slices.Contains(g.nodes[j].edges, e) {
					g.nodes[j].edges = append(g.nodes[j].edges, e)
					n.next[outcome]++
				}
			}
		}
	}
	return ""
}

// kind sets what a node becomes.
func (g *graph) kind(n *node) {
	key := n.own.take("unified_job_template")
	related := newRecord("", n.own.values["related"])
	m, _ := key.(map[string]any)
	kind := text(m["type"])
	if create := related.child("create_approval_template"); len(create.values) > 0 {
		key, m, kind = create.values, create.values, "workflow_approval"
	}
	n.name = named(key)
	if kind == "" && n.name != "" {
		for _, k := range []string{"job_template", "workflow_job_template", "project", "inventory_source"} {
			if g.x.find(k, key) != nil {
				kind = k
			}
		}
	}
	field := n.at + "unified_job_template"
	switch kind {
	case "job_template", "":
		n.target = g.x.find("job_template", key)
		n.missing = n.target == nil
		switch {
		case n.name == "":
			n.sort = lost
			draft.Need(g.object, field, "The node has no template and is left out.")
		case n.target != nil && !n.target.written():
			n.sort = lost
			draft.Need(g.object, field, "The template %q is not imported, so the node is left out.", n.name)
		}
	case "workflow_approval", "workflow_approval_template":
		n.sort = approval
		if !blank(m["timeout"]) {
			draft.Warn(g.object, field, "The approval %q has no end here: nothing denies it after a time.", n.name)
		}
		if !blank(m["description"]) {
			draft.Warn(g.object, field, "The description of the approval %q is not kept.", n.name)
		}
	case "project":
		n.sort = passed
		draft.Warn(g.object, field, "The update of the project %q is left out: projects are fetched when runs start.", n.name)
	case "inventory_source":
		n.sort = passed
		g.refresh(n, field, key)
	case "system_job_template":
		n.sort = passed
		draft.Warn(g.object, field, "The job %q of the product's own maintenance is left out.", n.name)
	case "workflow_job_template":
		n.sort = lost
		draft.Need(g.object, field, "The workflow %q cannot be a step, so the node is left out.", n.name)
	default:
		n.sort = lost
		draft.Need(g.object, field, "There is no counterpart for a node of the type %s, which is left out.", shown(kind))
	}
}

// refresh leaves out the update of an inventory source, which is refreshed when runs start instead.
func (g *graph) refresh(n *node, field string, key any) {
	e := g.x.find("inventory_source", key)
	if e == nil || !e.written() {
		draft.Need(g.object, field, "The update of the inventory source %q is left out, which is not imported.", n.name)
		return
	}
	if spec, ok := e.object.Spec.(*importer.SourceSpec); ok && !spec.UpdateOnLaunch {
		spec.UpdateOnLaunch = true
		draft.Warn(e.object, "update_on_launch", "A workflow updates it, so it is refreshed when runs start.")
	}
	draft.Warn(g.object, field,
		"The update of the inventory source %q is left out: it is refreshed when runs start.", n.name)
}

// step returns what a node executes, or false for one that is lost.
func (g *graph) step(n *node) (importer.Step, bool) {
	s := importer.Step{RequireApproval: n.holds}
	switch {
	case n.sort == approval:
		s.Tool, s.Command, s.RequireApproval = "bash", "true", true
		draft.Map(g.object, "The approval %q became a step that does nothing once it is approved.", n.name)
		return s, true
	case n.missing:
		draft.Need(g.object, n.at+"unified_job_template",
			"The template %q is not in the export; the server has to have one of this name.", n.name)
		if own := g.settings(n); own != "" {
			draft.Need(g.object, n.at+own, "The node sets this for a template that is not in the export, so it is left out.")
			return s, false
		}
		if len(g.vars) > 0 {
			draft.Need(g.object, n.at+"unified_job_template", "The variables of the workflow reach the template %q only if it "+
				"allows the override extra_vars.", n.name)
		}
		s.Template = n.name
		return s, true
	}
	l := &launch{object: g.object, at: n.at, what: fmt.Sprintf("The node %q", n.name), label: g.object.Name,
		target: n.target, own: n.own, flow: g.flow, vars: g.vars}
	var reason string
	s.Template, s.Answers, reason = g.x.start(l)
	if l.copied != "" {
		g.copies = append(g.copies, l.copied)
	}
	if reason != "" {
		draft.Need(g.object, n.at+"unified_job_template", "The node %q is left out. %s", n.name, reason)
		return s, false
	}
	if spec := n.target.template.spec; spec.Shards > 1 || len(spec.Notifications)+len(spec.Labels) > 0 {
		draft.Warn(g.object, n.place(), "A step is not split, has no labels and tells no targets, as the template %q does.",
			n.target.as)
	}
	n.own.skip("summary_fields", "success_nodes", "failure_nodes", "always_nodes", "workflow_job_template",
		"all_parents_must_converge", "unified_job_template")
	n.own.rest(g.object, n.at)
	return s, true
}

// settings returns the first setting of a node for its template, empty for none.
func (g *graph) settings(n *node) string {
	for _, member := range slices.Sorted(maps.Keys(n.own.values)) {
		known := []string{"unified_job_template", "workflow_job_template", "all_parents_must_converge", "success_nodes",
			"failure_nodes", "always_nodes"}
		if !slices.Contains(known, member) && !meaningless(member) && !blank(n.own.values[member]) {
			return shown(member)
		}
	}
	related := newRecord("", n.own.values["related"])
	if len(related.list("credentials")) > 0 {
		return "related.credentials"
	}
	return ""
}
