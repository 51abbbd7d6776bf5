package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// applyOverrides applies a launch to a template. Invalid faults name answers.<var>, an override that the template does
// not allow, or credential_ids[i]. The template is a shallow copy: it shares lists and maps with the stored one.
func applyOverrides(t catalog.Template, l catalog.Launch) (*launch, error) {
	answers, err := answerVars(t.Survey, l.Answers)
	if err != nil {
		return nil, err
	}
	if err := checkOverrides(t.AllowOverrides, &l); err != nil {
		return nil, err
	}
	if err := checkExtraVars(t.Survey, l.ExtraVars); err != nil {
		return nil, err
	}
	if err := checkReserved(t.AllowedVars, answers, &l); err != nil {
		return nil, err
	}
	for i, id := range l.CredentialIDs {
		if !slices.Contains(t.SelectableCredentialIDs, id) {
			return nil, fault.BadField(check.At("credential_ids", i),
				"is none of the credentials that the template lets a launch choose")
		}
	}
	m := &launch{template: t, vouched: vouched(&t, l.CredentialIDs), key: l.Idempotency}
	m.origin = runs.Origin{Source: cmp.Or(l.Source, runs.FromTemplate), SourceID: cmp.Or(l.By, t.ID)}
	over := l.SystemVars.Merge(answers).Merge(l.ExtraVars)
	m.vars = t.ExtraVars.Merge(over)
	m.templated = slices.DeleteFunc(names(t.ExtraVars), func(name string) bool {
		_, present := over[name]
		return present
	})
	m.override(&l)
	return m, nil
}

// vouched returns the ids that the template names and the caller needs no rights to. Credentials that the launch
// chooses are excluded, even if a step of the template also has them.
func vouched(t *catalog.Template, chosen []string) []string {
	return slices.DeleteFunc(namedIDs(t), func(id string) bool {
		return slices.Contains(chosen, id) && !slices.Contains(t.CredentialIDs, id)
	})
}

// answerVars converts answers to variables.
func answerVars(raw json.RawMessage, answers map[string]any) (runs.Vars, error) {
	fields, err := survey.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read a stored survey: %w", &fault.Error{Kind: fault.Internal, Cause: err})
	}
	values, err := survey.Answer(fields, answers)
	if err != nil {
		return nil, err
	}
	out := make(runs.Vars, len(values))
	for name, v := range values {
		if out[name], err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("answer a survey: %w", err)
		}
	}
	return out, nil
}

// checkReserved refuses the first reserved name among all variables that a launch sets.
func checkReserved(allowed []string, answers runs.Vars, l *catalog.Launch) error {
	for _, in := range []struct {
		field string
		vars  runs.Vars
	}{{"answers", answers}, {"extra_vars", l.ExtraVars}, {"vars", l.SystemVars}} {
		if _, names := in.vars.StripReserved(allowed...); len(names) > 0 {
			return runs.ReservedVar(in.field + "." + names[0])
		}
	}
	return nil
}

// checkExtraVars refuses variables that the survey asks for, because they would bypass its bounds. A script sees a
// variable by its name in upper case, so that counts too.
func checkExtraVars(raw json.RawMessage, vars runs.Vars) error {
	fields, err := survey.Decode(raw)
	if err != nil {
		return fmt.Errorf("read a stored survey: %w", &fault.Error{Kind: fault.Internal, Cause: err})
	}
	asked := make(map[string]bool, len(fields))
	for i := range fields {
		asked[reserved.Upper(fields[i].Var)] = true
	}
	for _, name := range names(vars) {
		if asked[reserved.Upper(name)] {
			return fault.BadField("extra_vars."+name, "is a question of the survey; answer it in answers")
		}
	}
	return nil
}

// checkOverrides refuses the first override that a template does not allow.
func checkOverrides(allowed []string, l *catalog.Launch) error {
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"limit", l.Limit != nil}, {"inventory_id", l.InventoryID != nil}, {"tags", l.Tags != nil},
		{"skip_tags", l.SkipTags != nil},
		{"extra_vars", len(l.ExtraVars) > 0}, {"dry_run", l.DryRun != nil}, {"forks", l.Forks != nil},
		{"verbosity", l.Verbosity != nil},
		{"diff_mode", l.DiffMode != nil}, {"labels", len(l.Labels) > 0}, {"change", l.Change != nil},
	} {
		if o.set && !slices.Contains(allowed, o.name) {
			return fault.BadField(o.name, "the template does not allow this override")
		}
	}
	if l.InventoryID != nil && *l.InventoryID == "" {
		return fault.BadField("inventory_id", "must not be empty")
	}
	return nil
}

// override replaces the values that the launch overrides.
func (m *launch) override(l *catalog.Launch) {
	t := &m.template.TemplateSpec
	if l.InventoryID != nil {
		t.InventoryID, t.Inventory = *l.InventoryID, ""
	}
	t.RequireApproval = t.RequireApproval || l.RequireApproval
	t.Locks = slices.Concat(t.Locks, l.Locks)
	set(&t.Limit, l.Limit)
	set(&t.Tags, l.Tags)
	set(&t.SkipTags, l.SkipTags)
	set(&t.DryRun, l.DryRun)
	t.DryRun = t.DryRun || l.DryRunOnly
	set(&t.Forks, l.Forks)
	set(&t.Verbosity, l.Verbosity)
	set(&t.DiffMode, l.DiffMode)
	set(&t.Change, l.Change)
	if len(l.Labels) > 0 {
		labels := maps.Clone(t.Labels)
		if labels == nil {
			labels = make(map[string]string, len(l.Labels))
		}
		maps.Copy(labels, l.Labels)
		t.Labels = labels
	}
	credentials := slices.Clone(t.CredentialIDs)
	for _, id := range l.CredentialIDs {
		if !slices.Contains(credentials, id) {
			credentials = append(credentials, id)
		}
	}
	t.CredentialIDs = credentials
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}
