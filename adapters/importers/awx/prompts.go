package awx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// launch is what starts a template with settings of its own: a schedule, or a node of a workflow.
type launch struct {
	object *importer.Object // which gets the warnings
	at     string           // is put before the members that they name
	what   string           // the subject of a sentence
	label  string           // the name of a copy
	target *entry
	own    *record // the settings
	// flow has the settings of the workflow, which take precedence, and vars the variables that it gives to its nodes.
	flow *record
	vars map[string]bool

	spec    importer.TemplateSpec
	answers map[string]any
	changed []string // what differs from the template, with the values
	parts   []string // the same without the values
	reason  string   // why it cannot start
	copied  string   // the key of the copy that was made for it
}

// start returns the template that a launch starts, which is a copy of its target if it sets more than answers, and the
// answers. The reason is empty if it can.
func (x *reader) start(l *launch) (name string, answers map[string]any, reason string) {
	l.spec, l.answers = l.target.template.spec, map[string]any{}
	x.prompts(l)
	x.given(l)
	if len(l.vars) > 0 {
		l.open()
	}
	l.unanswered()
	if len(l.answers) == 0 {
		l.answers = nil
	}
	switch {
	case l.reason != "":
		return "", nil, l.reason
	case len(l.changed) == 0:
		return l.target.as, l.answers, ""
	}
	key := l.target.as + "\x00" + strings.Join(l.changed, "\x00")
	if x.copies[key] == nil {
		x.copies[key], l.copied = x.duplicate(l), key
	}
	draft.Map(l.object, "%s launches the copy %q of the template, which has %s.", l.what, x.copies[key].Name,
		strings.Join(l.parts, ", "))
	return x.copies[key].Name, l.answers, ""
}

// duplicate adds the copy of a template that a launch needs.
func (x *reader) duplicate(l *launch) *importer.Object {
	spec := l.spec
	o := x.Add(importer.Object{Kind: importer.Template, Name: x.unique(importer.Template, l.target.as+" for "+l.label),
		Ref: l.own.ref, Spec: &spec})
	draft.Map(o, "It is a copy of the template %q with %s, because schedules and steps have no such settings.",
		l.target.as, strings.Join(l.parts, ", "))
	draft.Warn(o, "unified_job_template",
		"The copy does not follow changes of the template, and their runs do not wait for each other.")
	if l.target.object.Class == importer.NeedsYou {
		draft.Need(o, "unified_job_template", "What the template %q needs, the copy needs too.", l.target.as)
	}
	return o
}

// set notes a change of the template.
func (l *launch) set(part string, value any) {
	l.parts = append(l.parts, part)
	l.changed = append(l.changed, fmt.Sprintf("%s=%v", part, value))
}

// prompts applies the settings that the template asks for. The product ignores all others.
func (x *reader) prompts(l *launch) {
	for _, p := range []struct{ member, ask string }{
		{"inventory", "inventory"}, {"limit", "limit"}, {"job_tags", "tags"}, {"skip_tags", "skip_tags"},
		{"job_type", "job_type"}, {"diff_mode", "diff_mode"}, {"verbosity", "verbosity"}, {"forks", "forks"},
		{"timeout", "timeout"}, {"job_slice_count", "job_slice_count"}, {"scm_branch", "scm_branch"},
		{"execution_environment", "execution_environment"},
	} {
		v := l.own.take(p.member)
		if l.flow != nil && !blank(l.flow.values[p.member]) {
			v = l.flow.values[p.member]
		}
		switch asks := l.target.template.asks["ask_"+p.ask+"_on_launch"]; {
		case v == nil || text(v) == "" && named(v) == "":
		case !asks:
			draft.Map(l.object, "%s%s is ignored, as before: the template does not ask for it.", l.at, p.member)
		case l.target.template.workflow:
			l.reason = fmt.Sprintf("It sets %s for all steps of a workflow, which has no such setting.", p.member)
		default:
			x.prompt(l, p.member, v)
		}
	}
	related := l.own.child("related")
	if len(related.list("labels"))+len(related.list("instance_groups")) > 0 {
		draft.Warn(l.object, l.at+"related", "Labels and instance groups are those of the template.")
	}
	keys := related.list("credentials")
	if len(keys) == 0 {
		return
	}
	if !l.target.template.asks["ask_credential_on_launch"] {
		draft.Map(l.object, "%scredentials are ignored, as before: the template does not ask for them.", l.at)
		return
	}
	x.credentials(l, keys)
}

// prompt applies one setting.
func (x *reader) prompt(l *launch, member string, v any) {
	at, one := l.at+member, newRecord("", map[string]any{member: v})
	switch member {
	case "inventory":
		name := x.refer(l.object, at, "inventory", v)
		if name == "" {
			l.reason = "Its inventory is not imported."
		}
		l.spec.Inventory = name
	case "limit":
		if !validLimit(text(v)) {
			l.reason = "The server does not take its limit, and without it the play has more hosts."
		}
		l.spec.Limit = strings.TrimSpace(text(v))
	case "job_tags":
		l.spec.Tags = tags(l.object, at, text(v))
	case "skip_tags":
		l.spec.SkipTags = tags(l.object, at, text(v))
	case "job_type":
		l.spec.DryRun = text(v) == "check"
	case "diff_mode":
		l.spec.DiffMode = truth(v)
	case "verbosity":
		l.spec.Verbosity = min(max(0, one.number(member)), maxVerbosity)
	case "forks":
		l.spec.Forks = max(0, one.number(member))
	case "timeout":
		l.spec.Timeout = min(max(0, one.number(member)), maxSeconds)
	case "job_slice_count":
		l.spec.Shards = min(max(0, one.number(member)), maxShards)
	case "scm_branch":
		l.reason = "It sets a branch, and a template uses the branch of its project."
	default:
		draft.Warn(l.object, at, "There are no execution environments: a run uses what its executor has.")
		return
	}
	l.set("another "+member, v)
}

// credentials replaces the credentials of the template that are of the same type.
func (x *reader) credentials(l *launch, keys []any) {
	replaced := map[string]bool{}
	var added []string
	for _, key := range keys {
		m, _ := key.(map[string]any)
		replaced[named(m["credential_type"])] = true
		added = append(added, x.login(l.object, l.at+"related.credentials", key)...)
	}
	kept := slices.Clone(l.spec.Credentials)
	for _, e := range x.lists["credentials"] {
		if replaced[e.within] {
			kept = slices.DeleteFunc(kept, func(name string) bool { return name == e.as || name == e.with })
		}
	}
	for _, name := range added {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	if !slices.Equal(kept, l.spec.Credentials) {
		l.spec.Credentials = kept
		l.set("other credentials", kept)
	}
}

// given turns the variables of a launch into answers, and into variables of the copy.
func (x *reader) given(l *launch) {
	vars := x.variables(l.object, l.at+"extra_data", l.own.take("extra_data"))
	var more []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		i := slices.IndexFunc(l.spec.Survey, func(q importer.Question) bool { return q.Var == name })
		switch at := l.at + "extra_data." + shown(name); {
		case l.vars[name]: // the workflow sets it
			draft.Map(l.object, "%s is set by the workflow, as before.", at)
		case i >= 0:
			v := vars[name]
			if list, ok := v.([]any); ok {
				v = strings.Join(options(list), "\n")
			}
			a, ok := answer(&l.spec.Survey[i], v)
			if !ok {
				draft.Need(l.object, at, "The value is no answer to its question, and is left out.")
				continue
			}
			l.answers[name] = a
		case l.target.template.asks["ask_variables_on_launch"]:
			more = append(more, name)
		default:
			draft.Map(l.object, "%s is ignored, as before: the template does not ask for variables.", at)
		}
	}
	if len(more) == 0 {
		return
	}
	l.spec.ExtraVars = maps.Clone(l.spec.ExtraVars)
	for _, name := range more {
		put(&l.spec.ExtraVars, name, vars[name])
		l.set("the variable "+shown(name), vars[name])
	}
}

// open lets the variables of the workflow reach the copy, as the product does for every template.
func (l *launch) open() {
	asked := slices.DeleteFunc(slices.Clone(l.spec.Survey), func(q importer.Question) bool { return l.vars[q.Var] })
	if len(asked) < len(l.spec.Survey) {
		l.spec.Survey = asked
		l.set("the questions that the workflow does not answer", asked)
	}
	if !slices.Contains(l.spec.AllowOverrides, "extra_vars") {
		l.spec.AllowOverrides = append(slices.Clone(l.spec.AllowOverrides), "extra_vars")
		l.set("variables of the workflow", "")
	}
}

// unanswered finds the required questions without an answer. Those of a step are left to the variables of its workflow.
func (l *launch) unanswered() {
	open := func(q importer.Question) bool {
		return q.Required && q.Default == nil && l.answers[q.Var] == nil
	}
	i := slices.IndexFunc(l.spec.Survey, open)
	if i < 0 {
		return
	}
	if l.vars == nil {
		l.reason = fmt.Sprintf("The question %s of its template needs an answer, and it has none.",
			shown(l.spec.Survey[i].Var))
		return
	}
	draft.Need(l.object, l.at+"extra_data", "An earlier step has to give the variable %s, or the play fails.",
		shown(l.spec.Survey[i].Var))
	l.spec.Survey = slices.DeleteFunc(slices.Clone(l.spec.Survey), open)
	l.set("no required questions without an answer", l.spec.Survey)
	if !slices.Contains(l.spec.AllowOverrides, "extra_vars") {
		l.spec.AllowOverrides = append(slices.Clone(l.spec.AllowOverrides), "extra_vars")
	}
}
