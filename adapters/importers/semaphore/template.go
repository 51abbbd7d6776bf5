package semaphore

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// program returns the program that executes the script of a template, empty for a tool that has no counterpart.
func program(app string) string {
	return map[string]string{
		"bash": "bash", "python": "python3", "powershell": "pwsh -File", "": runs.Ansible, "ansible": runs.Ansible,
	}[app]
}

func (x *reader) template(r *record) {
	name, app, path := r.text("name"), r.line("app"), r.line("playbook")
	reason := ""
	switch {
	case program(app) == "":
		reason = "There is no tool here for the app " + reserved.Shown(app) + "."
	case !validPath(path):
		reason = "The template has no path of a file in its repository, or one that the server does not take."
	}
	if reason != "" {
		x.templates[name] = nil
		x.skip("template", name, r.ref, reason)
		x.ownCron(r, name)
		return
	}
	o := x.Add(importer.Object{Kind: importer.Template, Name: x.Name(importer.Template, name), Ref: r.ref})
	x.templates[name] = o
	limit := 1
	if r.flag("allow_parallel_tasks") {
		limit = 0
		draft.Map(o, "Any number of runs may execute at a time, as before.")
	}
	spec := &importer.TemplateSpec{Tool: runs.Ansible, Playbook: path, MaxConcurrent: &limit, Labels: x.labels(o)}
	o.Spec = spec
	repository := r.text("repository")
	spec.Project = x.repositories[repository]
	if spec.Project == "" {
		draft.Need(o, "repository", "The repository %s is not imported; choose a project.", reserved.Shown(repository))
	}
	if program(app) == runs.Ansible {
		x.play(o, spec, r)
	} else {
		x.script(o, spec, r, program(app), path)
	}
	x.given(o, spec, r)
	spec.Survey = questions(o, r.list("survey_vars"))
	if r.line("git_branch") != "" {
		draft.Need(o, "git_branch", "A run uses the branch of its project, and not the one that is set.")
	}
	foreign(o, r)
	x.ownCron(r, name)
	r.rest(o, "")
}

// foreign warns of settings that have no counterpart.
func foreign(o *importer.Object, r *record) {
	if kind := r.line("type"); kind != "" && kind != "task" {
		draft.Warn(o, "type", "Versions of builds and deployments are not kept; the template runs as any other.")
	}
	if r.line("build_template") != "" {
		draft.Need(o, "build_template", "The template deployed what %s had built; make a template with both as steps.",
			reserved.Shown(r.line("build_template")))
	}
	for _, m := range [][2]string{
		{"start_version", "Versions of builds are not kept."},
		{"autorun", "It is not started when a build ends; make a template with both as steps."},
		{"view", "The view is not kept; use labels."},
		{"description", "The description is not kept: objects have none."},
		{"suppress_success_alerts", "Notifications are set for each template here, and this one has none."},
		{"suppress_error_alerts", "Notifications are set for each template here, and this one has none."},
	} {
		if !blank(r.take(m[0])) {
			draft.Warn(o, m[0], "%s", m[1])
		}
	}
}

// play sets what only playbooks have.
func (x *reader) play(o *importer.Object, spec *importer.TemplateSpec, r *record) {
	name := r.text("inventory")
	in := x.inventories[name]
	switch {
	case in == nil && name == "", in != nil && in.missing == "" && in.name == "" && in.path == "":
		draft.Need(o, "inventory", "The template has no inventory; choose one.")
	case in == nil:
		draft.Need(o, "inventory", "The inventory %s is not in the backup; choose one.", reserved.Shown(name))
	case in.missing != "":
		draft.Need(o, "inventory", "The inventory %s is not imported; choose one.", reserved.Shown(name))
	case in.path != "":
		spec.InventoryPath = in.path
		spec.Credentials = slices.Clone(in.credentials)
		draft.Map(o, "The file of the inventory became the path of it in the project.")
	default:
		spec.Inventory = in.name
	}
	vaults := r.list("vaults")
	if k := r.line("vault_key"); k != "" {
		vaults = append(vaults, map[string]any{"vault_key": k})
	}
	for _, v := range vaults {
		vault := newRecord("", v)
		if name := x.login(o, "vaults", vault.text("vault_key"), secrets.VaultPassword); name != "" {
			attach(spec, name)
		}
		if id := text(vault.values["name"]); id != "" && id != "default" {
			draft.Need(o, "vaults", "Set the vault id %s in the credential of the vault.", reserved.Shown(id))
		}
		if vault.line("type") == "script" || vault.line("script") != "" {
			draft.Need(o, "vaults", "The script that gives the password of a vault is not kept; use a credential.")
		}
		vault.rest(o, "vaults.")
	}
	draft.Map(o, "The playbook, its repository and its inventory became those of the template.")
	if r.flag("allow_override_args_in_task") {
		spec.AllowOverrides = []string{"limit", "tags", "skip_tags", "extra_vars", "verbosity", "diff_mode", "forks"}
		draft.Warn(o, "allow_override_args_in_task",
			"A launch may set the limit, tags, variables and the like, and no other arguments.")
	}
	params(o, spec, r.take("task_params"))
	options(o, spec, r.list("arguments"))
}

func attach(spec *importer.TemplateSpec, name string) {
	if !slices.Contains(spec.Credentials, name) {
		spec.Credentials = append(spec.Credentials, name)
	}
}

// params sets the parameters of the tasks of a template.
func params(o *importer.Object, spec *importer.TemplateSpec, v any) {
	p := newRecord("", v)
	for _, m := range []string{"limit", "tags", "skip_tags"} {
		values := []string{p.text(m)}
		for _, item := range p.list(m) {
			values = append(values, text(item))
		}
		set(o, spec, "task_params."+m, m, strings.Trim(strings.Join(values, ","), ","))
	}
	spec.DiffMode = p.flag("diff")
	spec.DryRun = p.flag("dry_run")
	if spec.Verbosity = min(max(0, p.number("debug_level")), maxVerbosity); p.flag("debug") && spec.Verbosity == 0 {
		spec.Verbosity = maxVerbosity
	}
	for _, m := range [][2]string{{"allow_override_limit", "limit"}, {"allow_override_tags", "tags"},
		{"allow_override_skip_tags", "skip_tags"}, {"allow_debug", "verbosity"}} {
		if p.flag(m[0]) && !slices.Contains(spec.AllowOverrides, m[1]) {
			spec.AllowOverrides = append(spec.AllowOverrides, m[1])
			draft.Map(o, "A launch may set %s, as before.", m[1])
		}
	}
	p.rest(o, "task_params.")
}

// set sets the limit or tags, if the server takes them.
func set(o *importer.Object, spec *importer.TemplateSpec, field, member, value string) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
	case value[0] == '-' || !oneLine(value, maxPart) || runs.LimitNamesFile(value):
		draft.Need(o, field, "The server does not take this value, which is left out.")
	case member == "limit":
		spec.Limit = value
	default:
		to := &spec.Tags
		if member == "skip_tags" {
			to = &spec.SkipTags
		}
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" && tag[0] != '-' && oneLine(tag, maxName) {
				*to = append(*to, tag)
			} else if tag != "" {
				draft.Need(o, field, "A tag is left out, because the server does not take it.")
			}
		}
	}
}

// script sets what only scripts have.
func (x *reader) script(o *importer.Object, spec *importer.TemplateSpec, r *record, program, path string) {
	spec.Tool, spec.Playbook = "bash", ""
	words := []string{program, quoted(path)}
	hidden := false
	for _, v := range r.list("arguments") {
		word := text(v)
		name, value, assigned := strings.Cut(word, "=")
		dash := strings.HasPrefix(word, "-")
		switch {
		case hidden:
			hidden, words = false, words[:len(words)-1]
			draft.Need(o, "arguments", "An argument with a secret is left out; keep it in a credential.")
		case assigned && secret(name, value), secret("", word), strings.ContainsRune(word, 0):
			draft.Need(o, "arguments", "An argument with a secret is left out; keep it in a credential.")
		default:
			hidden = dash && !assigned && runs.LooksSecret(name)
			words = append(words, quoted(word))
		}
	}
	spec.Command = strings.Join(words, " ") + "\n"
	draft.Map(o, "The script is called by its path in the checkout of the project.")
	draft.Need(o, "app", "The script finds its variables in the environment as WRIT_VAR_ and their names in upper case, "+
		"and "+
		"gets no variables as arguments: check how it reads them.")
	if r.text("inventory") != "" {
		draft.Warn(o, "inventory", "A script has no inventory, so it is left out.")
	}
	if len(r.list("vaults")) > 0 || r.line("vault_key") != "" {
		draft.Warn(o, "vaults", "A script has no vaults, so they are left out.")
	}
	if r.flag("allow_override_args_in_task") {
		draft.Warn(o, "allow_override_args_in_task", "A launch cannot set arguments of a script; make questions.")
	}
	if !blank(r.take("task_params")) {
		draft.Warn(o, "task_params", "The parameters of tasks are those of playbooks and are left out.")
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// given sets the variables of the environments of a template; those of later ones win.
func (x *reader) given(o *importer.Object, spec *importer.TemplateSpec, r *record) {
	names := []string{r.text("environment")}
	for _, v := range r.list("environments") {
		name := text(v)
		if m, ok := v.(map[string]any); ok {
			name = text(m["name"])
		}
		names = append(names, name)
	}
	seen := map[string]bool{"": true}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		env := x.environments[name]
		if env == nil {
			draft.Need(o, "environment", "The environment %s is not in the backup.", reserved.Shown(name))
			continue
		}
		if env.lost {
			draft.Need(o, "environment", "Variables of %s are left out: the warnings of the environment name them.",
				reserved.Shown(name))
		}
		if x.variables += env.size; x.variables > maxVariables {
			draft.Need(o, "environment", "The templates have more than %d MiB of variables, so those of %s are left out.",
				maxVariables>>20, reserved.Shown(name))
		} else if len(env.vars) > 0 {
			merge(spec, env.vars)
			draft.Map(o, "The variables of the environment %s became variables of the template.", reserved.Shown(name))
		}
		if env.credential != "" {
			attach(spec, env.credential)
		}
	}
}

func merge(spec *importer.TemplateSpec, vars map[string]any) {
	if len(vars) == 0 {
		return
	}
	if spec.ExtraVars == nil {
		spec.ExtraVars = map[string]any{}
	}
	maps.Copy(spec.ExtraVars, vars)
}

// Bounds of a survey, those of the server.
const (
	maxQuestions = 100
	maxVar       = 128
	maxTitle     = 1000
	maxHelp      = 4000
	maxChoices   = 1000
	maxWhole     = 1 << 53
	maxVerbosity = 4
)

// choices returns the values of a question with a choice.
func choices(o *importer.Object, at string, list []any) []string {
	var out []string
	for _, v := range list {
		value := newRecord("", v)
		s := value.line("value")
		if s == "" || slices.Contains(out, s) || !object.Line(s, maxName) || len(out) == maxChoices {
			draft.Need(o, at+".values", "A choice is left out, because the server does not take it.")
			continue
		}
		if name := text(value.values["name"]); name != "" && name != s {
			draft.Warn(o, at+".values", "The choices show their values, and not their names.")
		}
		out = append(out, s)
	}
	return out
}
