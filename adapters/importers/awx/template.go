package awx

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// notKey matches what the key of a label does not have.
var notKey = lazyregexp.New(`[^a-z0-9._/-]+`)

// template is what schedules and workflows need to know of a template.
type template struct {
	spec     importer.TemplateSpec
	asks     map[string]bool // what a launch may set, by the member of the export
	workflow bool
}

// Bounds of a template, those of the server.
const (
	maxShards    = 512
	maxVerbosity = 4
	maxSeconds   = 1<<31 - 1
	maxTags      = 1000
)

// overrides returns the overrides by the questions at the launch of the product.
func overrides() map[string]string {
	return map[string]string{
		"ask_limit_on_launch": "limit", "ask_inventory_on_launch": "inventory_id", "ask_tags_on_launch": "tags",
		"ask_skip_tags_on_launch": "skip_tags", "ask_variables_on_launch": "extra_vars", "ask_job_type_on_launch": "dry_run",
		"ask_forks_on_launch": "forks", "ask_verbosity_on_launch": "verbosity", "ask_diff_mode_on_launch": "diff_mode",
		"ask_labels_on_launch": "labels",
	}
}

func (x *reader) jobTemplate(e *entry, r *record) {
	related := r.child("related")
	defer x.nested(e, related)
	playbook := r.line("playbook")
	limit := r.line("limit")
	switch {
	case !validPath(playbook):
		x.Skip("job_template", e.name, e.ref, "The template has no playbook, or one whose path the server does not take.")
		return
	case !validLimit(limit):
		x.Skip("job_template", e.name, e.ref, "The server does not take the limit, and without it the play has more hosts.")
		return
	}
	o := x.put(e, importer.Template)
	r.described(o)
	spec := importer.TemplateSpec{Tool: runs.Ansible, Playbook: playbook, DryRun: r.line("job_type") == "check"}
	spec.Limit, spec.Forks, spec.DiffMode = limit, max(0, r.number("forks")), r.flag("diff_mode")
	project := r.take("project")
	spec.Project = x.refer(o, "project", "project", project)
	spec.Inventory = x.refer(o, "inventory", "inventory", r.take("inventory"))
	switch {
	case named(project) == "":
		draft.Need(o, "project", "The template has no project; choose the one of its playbook.")
	case spec.Inventory == "" && !r.flag("ask_inventory_on_launch"):
		draft.Need(o, "inventory", "The template has no inventory; choose one.")
	}
	spec.ExtraVars = x.variables(o, "extra_vars", r.take("extra_vars"))
	controls(o, &spec, r)
	x.logins(o, &spec, r, related)
	x.common(o, e, &spec, r, related)
	x.notify(o, &spec, x.attached(r.ref, related), x.find("project", project), x.parent(e))
	draft.Map(o, "The playbook, its project and its inventory became those of the template.")
	if spec.DryRun {
		draft.Map(o, "The job type check became a dry run.")
	}
	r.skip("job_type")
	x.foreign(o, r)
	o.Spec = &spec
	e.template.spec = spec
	r.rest(o, "")
	related.rest(o, "related.")
}

// parent returns the organization of an object.
func (x *reader) parent(e *entry) *entry { return x.find("organization", e.org) }

func validPath(path string) bool {
	return path != "" && filepath.IsLocal(path) && path[0] != '-' && object.Line(path, maxPath) && len(path) <= maxPath
}

func validLimit(limit string) bool {
	return object.Line(limit, maxPart) && len(limit) <= maxPart && !strings.HasPrefix(limit, "-") &&
		!runs.LimitNamesFile(limit)
}

// controls sets the settings of the playbook tool.
func controls(o *importer.Object, spec *importer.TemplateSpec, r *record) {
	if spec.Verbosity = max(0, r.number("verbosity")); spec.Verbosity > maxVerbosity {
		spec.Verbosity = maxVerbosity
		draft.Warn(o, "verbosity", "The verbosity is at most %d.", maxVerbosity)
	}
	spec.Tags = tags(o, "job_tags", r.text("job_tags"))
	spec.SkipTags = tags(o, "skip_tags", r.text("skip_tags"))
	if n := r.number("job_slice_count"); n > 1 {
		spec.Shards = min(n, maxShards)
		draft.Map(o, "The %d slices became shards.", spec.Shards)
		if n > maxShards {
			draft.Warn(o, "job_slice_count", "A run has at most %d shards.", maxShards)
		}
	}
	spec.Timeout = min(max(0, r.number("timeout")), maxSeconds)
	if r.flag("become_enabled") {
		if spec.ExtraVars == nil {
			spec.ExtraVars = map[string]any{}
		}
		spec.ExtraVars["ansible_become"] = true
		draft.Warn(o, "become_enabled",
			"Becoming another user is the variable ansible_become, which also holds for plays that say otherwise.")
	}
}

// tags splits tags at commas.
func tags(o *importer.Object, field, s string) []string {
	var out []string
	for tag := range strings.SplitSeq(s, ",") {
		switch tag = strings.TrimSpace(tag); {
		case tag == "":
		case tag[0] == '-' || len(tag) > maxVariable || !object.Line(tag, maxVariable) || len(out) == maxTags:
			draft.Need(o, field, "A tag is left out, because the server does not take it.")
		default:
			out = append(out, tag)
		}
	}
	return out
}

// logins sets the credentials of a template.
func (x *reader) logins(o *importer.Object, spec *importer.TemplateSpec, r, related *record) {
	all := related.list("credentials")
	for _, member := range []string{"credential", "vault_credential"} {
		if key := r.take(member); named(key) != "" {
			all = append(all, key)
		}
	}
	for _, key := range all {
		for _, name := range x.login(o, "related.credentials", key) {
			if !slices.Contains(spec.Credentials, name) && len(spec.Credentials) < maxTags {
				spec.Credentials = append(spec.Credentials, name)
			}
		}
	}
}

// login returns the credentials that one of the product became.
func (x *reader) login(o *importer.Object, field string, key any) []string {
	name := x.refer(o, field, "credential", key)
	if name == "" {
		return nil
	}
	if e := x.find("credential", key); e != nil && e.with != "" {
		return []string{name, e.with}
	}
	return []string{name}
}

// common sets what templates and workflows share: the survey, what a launch may set, labels and concurrency.
func (x *reader) common(o *importer.Object, e *entry, spec *importer.TemplateSpec, r, related *record) {
	e.template = &template{asks: map[string]bool{}, workflow: len(spec.Steps) > 0}
	single := []string{"limit", "tags", "skip_tags", "forks", "verbosity", "diff_mode"}
	for _, member := range slices.Sorted(maps.Keys(r.values)) {
		if !strings.HasPrefix(member, "ask_") || !r.flag(member) {
			continue
		}
		e.template.asks[member] = true
		override := overrides()[member]
		if override == "" || e.template.workflow && slices.Contains(single, override) {
			draft.Warn(o, shown(member), "A launch cannot set this here.")
			continue
		}
		spec.AllowOverrides = append(spec.AllowOverrides, override)
		draft.Map(o, "A launch may set %s, as before.", override)
	}
	survey := related.child("survey_spec")
	if r.flag("survey_enabled") {
		spec.Survey = questions(o, survey.list("spec"))
	} else if len(survey.list("spec")) > 0 {
		draft.Warn(o, "survey_enabled", "The survey is not kept, because it is disabled.")
	}
	for _, l := range related.list("labels") {
		label(o, spec, named(l))
	}
	one := 1
	if r.flag("allow_simultaneous") {
		one = 0
		draft.Map(o, "Any number of runs may execute at a time, as before.")
	} else {
		draft.Map(o, "One run executes at a time, as before, and the others wait.")
	}
	spec.MaxConcurrent = &one
	for _, v := range related.list("instance_groups") {
		draft.Need(o, "related.instance_groups", "The instance group %s is not kept; choose a queue.", shown(named(v)))
	}
}

// label adds a label. Its key is its name in small letters, and its value the name.
func label(o *importer.Object, spec *importer.TemplateSpec, name string) {
	const most = 63
	key := strings.Trim(notKey.Get().ReplaceAllString(strings.ToLower(name), "-"), "-._/")
	if key = strings.Trim(key[:min(len(key), most)], "-._/"); key == "" || !object.Line(name, maxVariable) ||
		len(spec.Labels) == maxTags {
		draft.Warn(o, "related.labels", "The label %s is not kept, because the server does not take it.", shown(name))
		return
	}
	put(&spec.Labels, key, name)
	draft.Map(o, "The label %q became the label %s.", name, key)
}

// foreign warns of settings that have no counterpart.
func (x *reader) foreign(o *importer.Object, r *record) {
	for _, m := range []struct{ name, message string }{
		{"host_config_key", "Hosts cannot ask for a run by a callback; make a trigger."},
		{"webhook_service", "The webhook is not kept; make a trigger, and enter its secret in the repository's settings."},
		{"webhook_credential", "The status of a run is not reported to the repository."},
		{"force_handlers", "Handlers run as the playbook says; set force_handlers in the play."},
		{"use_fact_cache", "Facts of earlier runs are not given to a run."},
		{"execution_environment", "There are no execution environments: a run uses what its executor has."},
		{"opa_query_path", "The policy is not kept; make a policy here."},
	} {
		if !blank(r.take(m.name)) {
			draft.Warn(o, m.name, "%s", m.message)
		}
	}
	for _, m := range []struct{ name, message string }{
		{"start_at_task", "A run starts with the first task, and not with the one that is set."},
		{"scm_branch", "A run uses the branch of its project, and not the one that is set; make another project."},
	} {
		if !blank(r.take(m.name)) {
			draft.Need(o, m.name, "%s", m.message)
		}
	}
	r.skip("prevent_instance_group_fallback")
}
