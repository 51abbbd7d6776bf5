package catalog_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// workflow returns a template with two steps.
func workflow(name string) catalog.Template {
	t := catalog.Template{TemplateSpec: catalog.TemplateSpec{Steps: []runs.StepSpec{
		{Name: "build", Tool: "bash", Command: "make",
			ExtraVars: runs.Vars{"z": json.RawMessage("1"), "a": json.RawMessage("2")}},
		{Name: "ship", Playbook: "ship.yml", DependsOn: []string{"build"}},
	}}}
	t.Name = name
	return t
}

// TestTemplateInput checks the member of each refusal.
func TestTemplateInput(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	const gone = "01arz3ndektsv4rrffq69g5fav"
	for _, c := range []struct {
		field  string
		kind   fault.Kind
		graph  bool
		change func(t *catalog.Template)
	}{
		{"name", fault.Invalid, false, func(t *catalog.Template) { t.Name = "" }},
		{"playbook", fault.Invalid, true, func(t *catalog.Template) { t.Playbook = "a.yml" }},
		{"command", fault.Invalid, true, func(t *catalog.Template) { t.Command = "a" }},
		{"tool", fault.Invalid, true, func(t *catalog.Template) { t.Tool = "bash" }},
		{"shards", fault.Invalid, true, func(t *catalog.Template) { t.Shards = 2 }},
		{"limit", fault.Invalid, true, func(t *catalog.Template) { t.Limit = "a" }},
		{"tags", fault.Invalid, true, func(t *catalog.Template) { t.Tags = []string{"a"} }},
		{"skip_tags", fault.Invalid, true, func(t *catalog.Template) { t.SkipTags = []string{"a"} }},
		{"forks", fault.Invalid, true, func(t *catalog.Template) { t.Forks = 1 }},
		{"verbosity", fault.Invalid, true, func(t *catalog.Template) { t.Verbosity = 1 }},
		{"diff_mode", fault.Invalid, true, func(t *catalog.Template) { t.DiffMode = true }},
		{"allow_overrides[0]", fault.Invalid, false, func(t *catalog.Template) { t.AllowOverrides = []string{"playbook"} }},
		{"allow_overrides[1]", fault.Invalid, false, func(t *catalog.Template) {
			t.AllowOverrides = []string{"limit", "limit"}
		}},
		{"allow_overrides[1]", fault.Invalid, true, func(t *catalog.Template) {
			t.AllowOverrides = []string{"labels", "limit"}
		}},
		{"survey", fault.Invalid, false, func(t *catalog.Template) { t.Survey = json.RawMessage(`{}`) }},
		{"survey[0].min", fault.Invalid, false, func(t *catalog.Template) {
			t.Survey = json.RawMessage(`[{"var": "n", "type": "int", "min": 2, "max": 1}]`)
		}},
		{"max_concurrent", fault.Invalid, false, func(t *catalog.Template) { t.MaxConcurrent = -1 }},
		{"max_concurrent", fault.Invalid, true, func(t *catalog.Template) { t.MaxConcurrent = runs.MaxConcurrent + 1 }},
		{"when_busy", fault.Invalid, false, func(t *catalog.Template) { t.WhenBusy = "wait" }},
		{"credential_ids[0]", fault.Invalid, false, func(t *catalog.Template) { t.CredentialIDs = []string{"x"} }},
		{"selectable_credential_ids[0]", fault.NotFound, false, func(t *catalog.Template) {
			t.SelectableCredentialIDs = []string{"crd_" + gone}
		}},
		{"steps[1].credential_ids[0]", fault.Invalid, true, func(t *catalog.Template) {
			t.Steps[1].CredentialIDs = []string{"x"}
		}},
		{"steps[0].inventory_id", fault.NotFound, true, func(t *catalog.Template) { t.Steps[0].InventoryID = "inv_" + gone }},
		{"project_id", fault.NotFound, false, func(t *catalog.Template) { t.ProjectID = "prj_" + gone }},
		{"inventory_id", fault.NotFound, false, func(t *catalog.Template) { t.InventoryID = "nothing" }},
		{"notifications[0].url", fault.Invalid, false, func(t *catalog.Template) {
			t.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***"}}
		}},
		{"notifications[0].key", fault.Invalid, false, func(t *catalog.Template) {
			t.Notifications = []runs.Notification{{Kind: "pagerduty", Key: "***"}}
		}},
	} {
		x := template("t")
		if c.graph {
			x = workflow("t")
		}
		c.change(&x)
		if _, err := b.Templates.Create(t.Context(), x); !fault.Is(err, c.kind) || field(err) != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}

// TestTemplateCheck checks that saving a template refuses what a submission would refuse, with the same member. Invalid
// input is reported before missing rights to the template, and those before missing rights to references.
func TestTemplateCheck(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		made := b.template(workflow("w"))
		if b.runs.checked != 1 || len(b.runs.single)+len(b.runs.pipelines) != 0 {
			t.Error("a template is saved without a verdict, or submitted")
		}
		for _, c := range []struct {
			refuses error
			level   access.Level
			want    fault.Code
			invalid bool
		}{
			{fault.BadField("steps[0].retries", "too many"), access.Read, fault.Code{}, true},
			{runs.BadGraph.New("steps: a cycle"), access.Manage, runs.BadGraph, true},
			{runs.UseRequired.New("project_id: no"), access.Read, catalog.NotAllowed, false},
			{runs.UseRequired.New("project_id: no"), access.Manage, runs.UseRequired, false},
			{runs.UseRequired.New("project_id: no"), access.None, catalog.TemplateNotFound, false},
		} {
			b.runs.refuses = c.refuses
			b.guard.become(c.level, nil)
			_, err := b.Templates.Update(ctx, made.ID, 0, workflow("w2"))
			if c.invalid && !fault.Is(err, fault.Invalid) || c.want.Name != "" && !c.want.Is(err) {
				t.Errorf("%v at %q: %v", c.refuses, c.level, err)
			}
		}
		b.runs.refuses = nil
		b.guard.admins()
		if got := must[catalog.Template](t)(b.Templates.Get(ctx, made.ID)); got.Name != "w" || got.Revision != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestTemplateStored checks that a template reads back as it was saved, with the survey in its checked form.
func TestTemplateStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		x := template("t")
		x.Survey = json.RawMessage(` [ {"type":"text", "var":"v", "help": null} ] `)
		x.ExtraVars = runs.Vars{"big": json.RawMessage(`12345678901234567890`)}
		x.AllowOverrides, x.Labels = catalog.Overridable(), map[string]string{"team": "a"}
		x.Limit, x.Forks, x.Shards = "web", 7, 3
		made := b.template(x)
		got := must[catalog.Template](t)(b.Templates.Get(t.Context(), made.ID))
		x.Survey = json.RawMessage(`[{"var":"v","type":"text"}]`)
		if d := cmp.Diff(x.TemplateSpec, got.TemplateSpec) + cmp.Diff(made, got); d != "" {
			t.Error(d)
		}
		w := workflow("w")
		w.Steps[0].Templated = []string{"a"} // only set by the launch
		w.Survey = json.RawMessage(`[]`)
		got = must[catalog.Template](t)(b.Templates.Get(t.Context(), b.template(w).ID))
		if got.Steps[0].Templated != nil || got.Survey != nil {
			t.Errorf("%+v", got)
		}
	})
}

// TestNotificationMasks checks that stored and returned templates contain masks, and that input with masks keeps the
// stored values.
func TestNotificationMasks(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		x := template("t")
		x.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/" + canary},
			{Kind: "email", To: "a@example.com"}}
		held := []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***", Ref: "ntg_1"},
			{Kind: "email", To: "a@example.com"}}
		made := b.template(x)
		all, _, err := b.Templates.List(ctx, catalog.Filter{}, window)
		if err != nil || cmp.Diff(held, made.Notifications)+cmp.Diff(held, all[0].Notifications) != "" {
			t.Error(made.Notifications, all, err)
		}
		if _, _, err := b.Launcher.Launch(ctx, made.ID, catalog.Launch{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(held, b.runs.single[len(b.runs.single)-1].Notifications); d != "" {
			t.Error(d)
		}
		x.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***", OnFailure: true}}
		held = []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***", Ref: "ntg_1", OnFailure: true}}
		now := must[catalog.Template](t)(b.Templates.Update(ctx, made.ID, 0, x))
		if d := cmp.Diff(held, now.Notifications); d != "" {
			t.Error(d)
		}
		x.Notifications = []runs.Notification{{Kind: "teams", URL: "https://hooks.example.com/***"}}
		if _, err := b.Templates.Update(ctx, made.ID, 0, x); field(err) != "notifications[0].url" {
			t.Error(err)
		}
		if d := cmp.Diff(held, must[catalog.Template](t)(b.Templates.Get(ctx, made.ID)).Notifications); d != "" {
			t.Error(d)
		}
	})
}

// TestCompareSecrets checks that only a caller who may change an object gets the list of its changed secret members.
func TestCompareSecrets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		x := template("deploy")
		x.ExtraVars = runs.Vars{"db_password": json.RawMessage(`"hunter22"`), "n": json.RawMessage(`{"a": 1, "b": 2}`)}
		x.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/a"}}
		made := b.template(x)
		compare := func(change func(*catalog.Template)) string {
			t.Helper()
			next := x
			next.ExtraVars = maps.Clone(x.ExtraVars)
			change(&next)
			list, err := b.Templates.Compare(ctx, made.ID, next)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(list, " ")
		}
		for _, c := range []struct {
			want   string
			change func(*catalog.Template)
		}{
			{"", func(*catalog.Template) {}},
			{"", func(t *catalog.Template) { t.Playbook = "other.yml" }},
			{"", func(t *catalog.Template) { t.ExtraVars = x.ExtraVars.Redact() }},
			{"", func(t *catalog.Template) { t.ExtraVars["n"] = json.RawMessage(`{"b":2,"a":1}`) }},
			{"extra_vars", func(t *catalog.Template) { t.ExtraVars["db_password"] = json.RawMessage(`"hunter23"`) }},
			{"notifications", func(t *catalog.Template) { t.Notifications = nil }},
		} {
			if got := compare(c.change); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		}
		s := source("cmdb", b.inventory("hosts").ID)
		s.Config.Headers = map[string]string{"Authorization": canary}
		stored := must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		for _, c := range []struct{ want, url, header string }{
			{"", s.Config.URL, canary}, {"", s.Config.URL, "***"}, {"config", s.Config.URL, "guess"},
			{"config", "https://other.example.com", "***"},
		} {
			s.Config.URL, s.Config.Headers = c.url, map[string]string{"Authorization": c.header}
			if list, err := b.Sources.Compare(ctx, stored.ID, s); strings.Join(list, " ") != c.want || err != nil {
				t.Errorf("%+v: %q %v", c, list, err)
			}
		}
		b.trail.Take()
		b.guard.become(access.Use, nil)
		if _, err := b.Templates.Compare(ctx, made.ID, x); err == nil {
			t.Error("somebody who may not change the template compares")
		}
		if _, err := b.Sources.Compare(ctx, stored.ID, s); err == nil {
			t.Error("somebody who may not change the source compares")
		}
	})
}
