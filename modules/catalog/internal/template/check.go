package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// checked validates and normalizes the input. Invalid faults name the member. The members of a run request are
// validated by the runs.Checker.
func checked(t catalog.Template) (catalog.Template, error) {
	input := catalog.Template{TemplateSpec: t.TemplateSpec}
	input.Org = t.Org
	var err error
	if input.Name, err = object.Name(t.Name); err != nil {
		return input, err
	}
	if t.Workflow() {
		if err := single(&t.TemplateSpec); err != nil {
			return input, err
		}
	}
	for _, list := range []struct {
		field string
		ids   []string
	}{{"credential_ids", t.CredentialIDs}, {"selectable_credential_ids", t.SelectableCredentialIDs}} {
		if err := check.IDs(list.field, ids.Credential, list.ids); err != nil {
			return input, err
		}
	}
	input.Steps = slices.Clone(t.Steps)
	for i := range input.Steps {
		// These are set on launch.
		input.Steps[i].Templated, input.Steps[i].Preset, input.Steps[i].Commit = nil, nil, ""
		input.Steps[i].LimitHosts = nil
		if err := check.IDs(check.At("steps", i)+".credential_ids", ids.Credential,
			input.Steps[i].CredentialIDs); err != nil {
			return input, err
		}
	}
	if err := overrides(&t.TemplateSpec); err != nil {
		return input, err
	}
	if err := allowedVars(t.AllowedVars); err != nil {
		return input, err
	}
	if t.DryRunExecutes && !t.Workflow() && !extension.Script(t.Tool) {
		return input, fault.BadField("dry_run_executes", "is for tools that execute scripts; a dry run of %s executes anyway",
			cmp.Or(t.Tool, runs.Ansible))
	}
	if err := check.Concurrent(t.MaxConcurrent); err != nil {
		return input, err
	}
	switch t.WhenBusy {
	case "", runs.BusyQueue, runs.BusySkip, runs.BusyReplace:
	default:
		return input, fault.NoneOf("when_busy", t.WhenBusy, runs.BusyQueue, runs.BusySkip, runs.BusyReplace)
	}
	input.Survey, err = questions(t.Survey, t.AllowedVars)
	return input, err
}

// single refuses members that a workflow leaves to its steps.
func single(t *catalog.TemplateSpec) error {
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"playbook", t.Playbook != ""}, {"command", t.Command != ""}, {"tool", t.Tool != ""}, {"shards", t.Shards != 0},
		{"limit", t.Limit != ""}, {"tags", len(t.Tags) > 0}, {"skip_tags", len(t.SkipTags) > 0}, {"forks", t.Forks != 0},
		{"verbosity", t.Verbosity != 0}, {"diff_mode", t.DiffMode}, {"inventory_query", t.InventoryQuery != ""},
	} {
		if m.set {
			return fault.BadField(m.name, "must be empty where there are steps")
		}
	}
	return nil
}

// controls returns the overrides that a workflow cannot have, because its steps have their own.
func controls() []string {
	return []string{"limit", "tags", "skip_tags", "forks", "verbosity", "diff_mode"}
}

func overrides(t *catalog.TemplateSpec) error {
	known := catalog.Overridable()
	for i, name := range t.AllowOverrides {
		at := check.At("allow_overrides", i)
		switch {
		case !slices.Contains(known, name):
			return fault.NoneOf(at, name, known...)
		case slices.Contains(t.AllowOverrides[:i], name):
			return fault.BadField(at, "is named before")
		case t.Workflow() && slices.Contains(controls(), name):
			return fault.BadField(at, "is a matter of the steps")
		}
	}
	return nil
}

// maxAllowed is the maximum number of AllowedVars.
const maxAllowed = 100

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

func allowedVars(names []string) error {
	const field = "allowed_vars"
	if len(names) > maxAllowed {
		return fault.BadField(field, "has more than %d members", maxAllowed)
	}
	for i, name := range names {
		switch {
		case !variable.MatchString(name):
			return fault.BadField(check.At(field, i), "expected the name of a variable")
		case slices.Contains(names[:i], name):
			return fault.BadField(check.At(field, i), "is named before")
		}
	}
	return nil
}

// questions returns a survey in its stored form, nil for an empty one.
func questions(raw json.RawMessage, allowed []string) (json.RawMessage, error) {
	fields, err := survey.Decode(raw)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	if err := survey.Check(fields); err != nil {
		return nil, err
	}
	for i := range fields {
		if name := fields[i].Var; reserved.Variable(name) && !slices.Contains(allowed, name) {
			return nil, runs.ReservedVar(check.At("survey", i) + ".var")
		}
	}
	return survey.Encode(fields)
}

func references(t catalog.Template) object.References {
	out := object.References(nil).Add("project_id", ids.Project, t.ProjectID).
		Add("inventory_id", ids.Inventory, t.InventoryID).
		AddList("credential_ids", ids.Credential, t.CredentialIDs).
		AddList("selectable_credential_ids", ids.Credential, t.SelectableCredentialIDs)
	for i := range t.Steps {
		at := check.At("steps", i) + "."
		out = out.Add(at+"inventory_id", ids.Inventory, t.Steps[i].InventoryID).
			Add(at+"project_id", ids.Project, t.Steps[i].ProjectID).
			Add(at+"template_id", ids.Template, t.Steps[i].TemplateID).
			AddList(at+"credential_ids", ids.Credential, t.Steps[i].CredentialIDs)
	}
	return out
}

// alike returns the stored template with its steps in the order of the new template's steps, matched by name.
func alike(was, now catalog.Template) catalog.Template {
	byName := make(map[string]runs.StepSpec, len(was.Steps))
	for _, s := range was.Steps {
		byName[s.Name] = s
	}
	was.Steps = make([]runs.StepSpec, len(now.Steps))
	for i := range now.Steps {
		was.Steps[i] = byName[now.Steps[i].Name]
	}
	return was
}

// inheritedCredentials returns the credentials of the template and of its steps, which every launch gets.
func inheritedCredentials(t *catalog.Template) []string {
	out := slices.Clone(t.CredentialIDs)
	for i := range t.Steps {
		out = append(out, t.Steps[i].CredentialIDs...)
	}
	return out
}

func entry(a audit.Action, t catalog.Template) (audit.Entry, error) {
	d := object.Detail{"dry_run": t.DryRun, "dry_run_executes": t.DryRunExecutes, "timeout": t.TimeoutSeconds,
		"notifications": len(t.Notifications), "require_approval": t.RequireApproval, "max_concurrent": t.MaxConcurrent,
		"exclusive_hosts": t.ExclusiveHosts}
	d.Set("tool", t.Tool).Set("playbook", t.Playbook).Set("project_id", t.ProjectID).Set("inventory_id", t.InventoryID)
	d.Set("inventory_query", t.InventoryQuery)
	d.Set("queue", t.Queue).Set("isolation_profile", t.IsolationProfile).List("credential_ids", t.CredentialIDs)
	d.List("selectable_credential_ids", t.SelectableCredentialIDs).List("allow_overrides", t.AllowOverrides)
	d.List("allowed_vars", t.AllowedVars).List("fail_on", t.FailOn).List("locks", t.Locks)
	d.Set("when_busy", string(t.WhenBusy))
	if t.Command != "" {
		d["command"] = check.Sum([]byte(t.Command))
	}
	for name, doc := range map[string]struct {
		value any
		count int
	}{
		"extra_vars": {t.ExtraVars, len(t.ExtraVars)}, "survey": {t.Survey, len(t.Survey)}, "steps": {t.Steps, len(t.Steps)},
	} {
		if doc.count == 0 {
			continue
		}
		b, err := json.Marshal(doc.value)
		if err != nil {
			return audit.Entry{}, fmt.Errorf("record a template: %w", err)
		}
		d[name] = check.Sum(b)
	}
	return object.Entry(a, t.Record, d), nil
}
