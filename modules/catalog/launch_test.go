package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func ptr[T any](v T) *T { return &v }

// credential registers a credential, as its own context does.
func (b *bundle) credential() string {
	b.t.Helper()
	id := b.params.IDs.New(ids.Credential)
	if err := b.params.Objects.Put(b.t.Context(), grantable(id)); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// open returns a template that allows all overrides.
func (b *bundle) open() (catalog.Template, []string) {
	creds := []string{b.credential(), b.credential(), b.credential()}
	x := template("open")
	x.Survey = raw(`[{"var": "release", "type": "text", "required": true}, {"var": "count", "type": "int", "default": 3},
		{"var": "region", "type": "choice", "choices": ["eu", "us"]}]`)
	x.ExtraVars = runs.Vars{"own": raw(`"{{ x }}"`), "count": raw("1"), "given": raw("0"), "over": raw("0"),
		"z": raw("null")}
	x.Inventory, x.Limit, x.Tags, x.SkipTags = "hosts.ini", "web", []string{"a"}, []string{"b"}
	x.Forks, x.Verbosity, x.DiffMode, x.Shards, x.TimeoutSeconds = 5, 1, true, 4, 60
	x.Queue, x.Change, x.DryRun, x.Labels = "eu", "CH-1", true, map[string]string{"a": "1", "b": "1"}
	x.CredentialIDs, x.SelectableCredentialIDs = creds[:1], creds[:2]
	x.AllowOverrides, x.FailOn = catalog.Overridable(), []string{"no_hosts"}
	x.MaxConcurrent, x.WhenBusy, x.Locks, x.ExclusiveHosts = 2, runs.BusySkip, []string{"db"}, true
	return b.template(x), creds
}

// TestLaunch applies answers, variables, credentials and overrides to a template.
func TestLaunch(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		tpl, creds := b.open()
		inv := b.inventory("estate").ID
		base := runs.Submission{
			Spec: runs.Spec{
				Playbook: "site.yml", Inventory: "hosts.ini", TemplateID: tpl.ID, Templated: []string{"given", "over", "own", "z"},
				Controls: runs.Controls{Limit: "web", Tags: []string{"a"}, SkipTags: []string{"b"}, Forks: 5, Verbosity: 1,
					DiffMode: true},
				DryRun: true, Shards: 4, TimeoutSeconds: 60, CredentialIDs: creds[:1], Queue: "eu",
				FailOn: []string{"no_hosts"}, Locks: []string{"db"}, ExclusiveHosts: true,
			},
			WhenBusy: runs.BusySkip, Name: "open", Labels: map[string]string{"a": "1", "b": "1"}, Change: "CH-1",
			ExtraVars: runs.Vars{
				"own": raw(`"{{ x }}"`), "count": raw("3"), "given": raw("0"), "over": raw("0"), "z": raw("null"),
				"release": raw(`"1.0"`),
			},
			Origin: runs.Origin{Source: runs.FromTemplate, SourceID: tpl.ID},
			Vouched: append([]string{tpl.ID},
				tpl.CredentialIDs...), // without credentials and inventories that the launch names
		}
		key := &runs.Idempotency{Key: "k"}
		for _, c := range []struct {
			name   string
			launch catalog.Launch
			want   func(s *runs.Submission)
		}{
			{"as it is", catalog.Launch{}, func(*runs.Submission) {}},
			{"variables", catalog.Launch{
				SystemVars: runs.Vars{"given": raw("1"), "count": raw("7"), "over": raw("1"), "push": raw("{}")},
				ExtraVars:  runs.Vars{"over": raw("2"), "brought": raw(`"x"`)},
			}, func(s *runs.Submission) {
				s.Templated = []string{"own", "z"}
				s.ExtraVars = s.ExtraVars.Merge(runs.Vars{"given": raw("1"), "over": raw("2"), "push": raw("{}"),
					"brought": raw(`"x"`)})
			}},
			{"credentials", catalog.Launch{CredentialIDs: []string{creds[1], creds[0], creds[1]}}, func(s *runs.Submission) {
				s.CredentialIDs = creds[:2]
			}},
			{"controls", catalog.Launch{
				Limit: ptr(""), Tags: &[]string{}, SkipTags: &[]string{"x"}, Forks: ptr(0), Verbosity: ptr(4), DiffMode: ptr(false),
				DryRun: ptr(false),
			}, func(s *runs.Submission) {
				s.Controls = runs.Controls{Tags: []string{}, SkipTags: []string{"x"}, Verbosity: 4}
				s.DryRun = false
			}},
			{"dry, whatever it says", catalog.Launch{DryRun: ptr(false), DryRunOnly: true}, func(*runs.Submission) {}},
			{"inventory", catalog.Launch{InventoryID: ptr(inv)}, func(s *runs.Submission) {
				s.InventoryID, s.Inventory = inv, ""
			}},
			{"labels and change", catalog.Launch{Labels: map[string]string{"b": "2", "c": "3"}, Change: ptr("CH-2")},
				func(s *runs.Submission) {
					s.Labels, s.Change = map[string]string{"a": "1", "b": "2", "c": "3"}, "CH-2"
				}},
			{"locked", catalog.Launch{Locks: []string{"s"}}, func(s *runs.Submission) { s.Locks = []string{"db", "s"} }},
			{"held", catalog.Launch{RequireApproval: true}, func(s *runs.Submission) { s.RequireApproval = true }},
			{"by a schedule", catalog.Launch{Source: runs.FromSchedule, By: "sch_1", Idempotency: key},
				func(s *runs.Submission) {
					s.Origin, s.Idempotency = runs.Origin{Source: runs.FromSchedule, SourceID: "sch_1"}, key
				}},
		} {
			c.launch.Answers = map[string]any{"release": "1.0"}
			run, _, err := b.Launcher.Launch(t.Context(), tpl.ID, c.launch)
			if err != nil || run == nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			want := base
			c.want(&want)
			if d := cmp.Diff(want, b.runs.single[len(b.runs.single)-1]); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
		b.trail.Take()
		if _, _, err := b.Launcher.Launch(t.Context(), tpl.ID,
			catalog.Launch{Answers: map[string]any{"release": "2"}}); err != nil {
			t.Error(err)
		}
		if list := b.trail.Take(); len(list) != 0 {
			t.Errorf("a launch is recorded twice: %+v", list)
		}
	})
}

// TestLaunchRefused checks that an invalid answer, override or credential submits nothing.
func TestLaunchRefused(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	open, creds := b.open()
	shut := b.template(template("shut"))
	ok := map[string]any{"release": "1"}
	for _, c := range []struct {
		id, field string
		launch    catalog.Launch
	}{
		{open.ID, "answers.release", catalog.Launch{}},
		{open.ID, "answers.count", catalog.Launch{Answers: map[string]any{"release": "1", "count": "x"}}},
		{open.ID, "answers.other", catalog.Launch{Answers: map[string]any{"release": "1", "other": "x"}}},
		{open.ID, "credential_ids[1]", catalog.Launch{Answers: ok, CredentialIDs: []string{creds[1], creds[2]}}},
		{open.ID, "inventory_id", catalog.Launch{Answers: ok, InventoryID: ptr("")}},
		{shut.ID, "answers.release", catalog.Launch{Answers: ok}},
		{shut.ID, "limit", catalog.Launch{Limit: ptr("")}},
		{shut.ID, "inventory_id", catalog.Launch{InventoryID: ptr("inv_1")}},
		{shut.ID, "tags", catalog.Launch{Tags: &[]string{}}},
		{shut.ID, "skip_tags", catalog.Launch{SkipTags: &[]string{}}},
		{shut.ID, "extra_vars", catalog.Launch{ExtraVars: runs.Vars{"a": raw("1")}}},
		{shut.ID, "dry_run", catalog.Launch{DryRun: ptr(true)}},
		{shut.ID, "forks", catalog.Launch{Forks: ptr(1)}},
		{shut.ID, "verbosity", catalog.Launch{Verbosity: ptr(1)}},
		{shut.ID, "diff_mode", catalog.Launch{DiffMode: ptr(true)}},
		{shut.ID, "labels", catalog.Launch{Labels: map[string]string{"a": "b"}}},
		{shut.ID, "change", catalog.Launch{Change: ptr("x")}},
		{shut.ID, "credential_ids[0]", catalog.Launch{CredentialIDs: creds[:1]}},
	} {
		_, _, err := b.Launcher.Launch(t.Context(), c.id, c.launch)
		if !fault.Is(err, fault.Invalid) || field(err) != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if len(b.runs.single) != 0 {
		t.Errorf("%d runs were submitted", len(b.runs.single))
	}
	vars := catalog.Launch{SystemVars: runs.Vars{"writ_push": raw("{}")}} // needs no permission of the template
	if _, _, err := b.Launcher.Launch(t.Context(), shut.ID, vars); err != nil {
		t.Error(err)
	}
}

// TestLaunchWorkflow submits the steps, each with the names of its saved variables.
func TestLaunchWorkflow(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		w := workflow("w")
		w.ExtraVars = runs.Vars{"v": raw("1"), "x": raw("2")}
		w.AllowOverrides, w.FailOn = []string{"extra_vars", "dry_run"}, []string{"warnings"}
		w.WhenBusy, w.Locks, w.ExclusiveHosts = runs.BusyReplace, []string{"db"}, true
		w = b.template(w)
		l := catalog.Launch{ExtraVars: runs.Vars{"x": raw("3")}, DryRun: ptr(true), Source: runs.FromTrigger, By: "trg_1"}
		if _, _, err := b.Launcher.Launch(t.Context(), w.ID, l); err != nil {
			t.Fatal(err)
		}
		want := runs.PipelineSubmission{
			Name: "w", TemplateID: w.ID, Templated: []string{"v"}, ExtraVars: runs.Vars{"v": raw("1"), "x": raw("3")},
			DryRun:  true,
			FailOn:  []string{"warnings"},
			Steps:   w.Steps,
			Origin:  runs.Origin{Source: runs.FromTrigger, SourceID: "trg_1"},
			Vouched: []string{w.ID},
			Locks:   []string{"db"}, ExclusiveHosts: true, WhenBusy: runs.BusyReplace,
		}
		want.Steps[0].Templated = []string{"a", "z"}
		if d := cmp.Diff(want, b.runs.pipelines[0]); d != "" {
			t.Error(d)
		}
		if _, _, err := b.Launcher.Launch(t.Context(), w.ID, catalog.Launch{Limit: ptr("a")}); field(err) != "limit" {
			t.Error(err)
		}
		shut := b.template(workflow("shut")) // allows no override
		_, _, err := b.Launcher.Launch(t.Context(), shut.ID, catalog.Launch{DryRunOnly: true})
		if err != nil || !b.runs.pipelines[1].DryRun {
			t.Errorf("%v, %+v", err, b.runs.pipelines)
		}
	})
}

// TestLaunchRights checks the faults of callers who may not read or not use a template.
func TestLaunchRights(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		tpl := b.template(template("t"))
		for _, c := range []struct {
			level access.Level
			want  fault.Code
		}{{access.None, catalog.TemplateNotFound}, {access.Read, runs.UseRequired}, {access.Use, fault.Code{}}} {
			b.guard.become(c.level, nil)
			_, _, err := b.Launcher.Launch(t.Context(), tpl.ID, catalog.Launch{})
			alone := b.Launcher.Unattended(t.Context(), tpl.ID, nil)
			if c.want.Name == "" && (err != nil || alone != nil) || c.want.Name != "" && (!c.want.Is(err) || !c.want.Is(alone)) {
				t.Errorf("%q: %v, %v", c.level, err, alone)
			}
		}
		_, _, err := b.Launcher.Launch(t.Context(), "tpl_none", catalog.Launch{})
		if !catalog.TemplateNotFound.Is(err) {
			t.Error(err)
		}
	})
}

// TestUnattended checks launches with answers only, and that nothing is submitted.
func TestUnattended(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	tpl, _ := b.open()
	ctx := t.Context()
	if err := b.Launcher.Unattended(ctx, tpl.ID, nil); field(err) != "answers.release" {
		t.Error(err)
	}
	if err := b.Launcher.Unattended(ctx, tpl.ID, map[string]any{"release": "1"}); err != nil {
		t.Error(err)
	}
	b.runs.refuses = fault.BadField("playbook", "is gone")
	for _, id := range []string{tpl.ID} {
		if err := b.Launcher.Unattended(ctx, id, map[string]any{"release": "1"}); field(err) != "playbook" {
			t.Error(err)
		}
	}
	if len(b.runs.single) != 0 {
		t.Error("something was submitted")
	}
}
