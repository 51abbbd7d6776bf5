package scheduling_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

var (
	tpl1, inv1, inv2, prj1 = id("tpl", 1), id("inv", 1), id("inv", 2), id("prj", 1)
	crd1, crd2             = id("crd", 1), id("crd", 2)
)

func nightly(edit ...func(*scheduling.Schedule)) scheduling.Schedule {
	s := scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{Name: "nightly"}}, Cron: "30 2 * * *", Timezone: "Europe/Berlin",
		Enabled: true,
		Target:  scheduling.Target{TemplateID: tpl1, Answers: map[string]any{"n": json.Number("12345678901234567890")}},
	}
	for _, fn := range edit {
		fn(&s)
	}
	return s
}

func aRun() scheduling.Target {
	return scheduling.Target{Run: &runs.Submission{Spec: runs.Spec{
		Tool: "bash", Command: "true", InventoryID: inv1, ProjectID: prj1, CredentialIDs: []string{crd2, crd1}, Queue: "gpu",
	}}}
}

func aPipeline() scheduling.Target {
	return scheduling.Target{Pipeline: &runs.PipelineSubmission{
		Name: "release", ProjectID: prj1, CredentialIDs: []string{crd1},
		Steps: []runs.StepSpec{{Name: "a", Command: "true", InventoryID: inv1},
			{Name: "b", Command: "true", InventoryID: inv2, CredentialIDs: []string{crd2}, Queue: "edge"}},
	}}
}

func aims(target scheduling.Target) func(*scheduling.Schedule) {
	return func(s *scheduling.Schedule) { s.Target = target }
}

func (b *bundle) create(s scheduling.Schedule) scheduling.Schedule {
	b.t.Helper()
	made, err := b.Schedules.Create(b.as("usr_1"), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

func TestScheduleIsMade(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.org("org_1")
		got := b.create(nightly(func(s *scheduling.Schedule) {
			s.Name, s.Org, s.Cron = "  nightly ", "org_1", " 30 2 * * * "
		}))
		want := nightly()
		want.Overlap = scheduling.OverlapSkip
		want.Record = scheduling.Record{Record: object.Record{ID: got.ID, Name: "nightly", Org: "org_1", CreatedBy: "usr_1",
			CreatedAt: start, UpdatedAt: start, Revision: 1}, Owner: "usr_1"}
		want.NextRunAt = got.NextRunAt
		same(t, "what it returns", want, got)
		if wait := time.Until(got.NextRunAt); wait <= 0 || wait > 25*time.Hour {
			t.Errorf("it fires in %s", wait)
		}
		read, err := b.Schedules.Get(b.as("usr_2"), got.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "what is read", want, read)
		same(t, "what it names", []string{tpl1}, b.fixture.named[got.ID])
		same(t, "the trail", []audit.Entry{{Action: audit.ScheduleCreate,
			Object: audit.Object{Kind: "schedule", ID: got.ID, Name: "nightly"}, Detail: map[string]any{
				"cron": "30 2 * * *", "timezone": "Europe/Berlin", "enabled": true, "org_id": "org_1", "owner": "usr_1",
				"target": "template", "names": []any{tpl1}, "require_approval": false, "dry_run": false, "overlap": "skip",
			}}}, b.fixture.Take())
		list, n, err := b.Schedules.List(b.as("usr_2"), scheduling.Filter{}, page.Window{})
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		same(t, "the list", []scheduling.Schedule{want}, list)
		off := b.create(nightly(func(s *scheduling.Schedule) { s.Name, s.Enabled = "off", false }))
		if !off.NextRunAt.IsZero() {
			t.Errorf("a disabled one fires at %s", off.NextRunAt)
		}
		own, err := b.Schedules.Create(t.Context(), nightly())
		if err != nil || own.Owner != "" || own.CreatedBy != "system" {
			t.Errorf("the application's: %+v, %v", own.Record, err)
		}
	})
}

func TestScheduleNamesItsTargets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		run, pipeline := b.create(nightly(aims(aRun()))), b.create(nightly(aims(aPipeline()), func(s *scheduling.Schedule) {
			s.Name = "other"
		}))
		same(t, "a run", []string{crd1, crd2, inv1, prj1}, b.fixture.named[run.ID])
		same(t, "a pipeline", []string{crd1, crd2, inv1, inv2, prj1}, b.fixture.named[pipeline.ID])
		same(t, "judged", []string{"true", "release"}, b.fixture.checked)
		entries := b.fixture.Take()
		if len(entries) != 2 || entries[0].Detail["target"] != "run" || entries[1].Detail["target"] != "pipeline" {
			t.Errorf("%+v", entries)
		}
		for _, c := range []struct {
			target scheduling.Target
			absent string
			code   string
			field  string
		}{
			{scheduling.Target{TemplateID: tpl1}, tpl1, "template_not_found", "template_id"},
			{aRun(), inv1, "inventory_not_found", "run.inventory_id"},
			{aRun(), prj1, "project_not_found", "run.project_id"},
			{aRun(), crd1, "credential_not_found", "run.credential_ids[1]"},
			{aPipeline(), prj1, "project_not_found", "pipeline.project_id"},
			{aPipeline(), inv2, "inventory_not_found", "pipeline.steps[1].inventory_id"},
			{aPipeline(), crd2, "credential_not_found", "pipeline.steps[1].credential_ids[0]"},
		} {
			b.fixture.set(func() { b.fixture.absent = map[string]bool{c.absent: true} })
			_, err := b.Schedules.Create(b.as("usr_1"), nightly(aims(c.target), func(s *scheduling.Schedule) {
				s.Name = "third"
			}))
			refused(t, c.field, err, fault.Code{Name: c.code, Kind: fault.NotFound}, c.field)
		}
		if _, n, err := b.Schedules.List(t.Context(), scheduling.Filter{}, page.Window{}); n != 2 || err != nil {
			t.Errorf("%d schedules, %v", n, err)
		}
		if e := b.fixture.Take(); len(e) != 0 {
			t.Errorf("what was not made has entries: %+v", e)
		}
	})
}

func TestScheduleIsValidated(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		var nothing scheduling.Target
		both := aRun()
		both.TemplateID = tpl1
		answered := aRun()
		answered.Answers = map[string]any{"a": true}
		templated, ofTemplate, hosts, step := aRun(), aRun(), aRun(), aPipeline()
		templated.Run.Templated, ofTemplate.Run.TemplateID, hosts.Run.LimitHosts = []string{"a"}, tpl1, []string{}
		step.Pipeline.Steps[1].Templated = []string{"a"}
		whole := aPipeline()
		whole.Pipeline.Templated = []string{"a"}
		for i, c := range []struct {
			edit  func(*scheduling.Schedule)
			code  fault.Code
			field string
		}{
			{func(s *scheduling.Schedule) { s.Name = " " }, invalid, "name"},
			{func(s *scheduling.Schedule) { s.Name = "a\nb" }, invalid, "name"},
			{func(s *scheduling.Schedule) { s.Name = strings.Repeat("ä", 201) }, invalid, "name"},
			{func(s *scheduling.Schedule) { s.Name = "a\xff" }, invalid, "name"},
			{func(s *scheduling.Schedule) { s.Cron = "* * * *" }, invalid, "cron"},
			{func(s *scheduling.Schedule) { s.Cron = "0 0 30 2 *" }, invalid, "cron"},
			{func(s *scheduling.Schedule) { s.Cron, s.Enabled = "0 0 30 2 *", false }, invalid, "cron"},
			{func(s *scheduling.Schedule) { s.Timezone = "Mars/Olympus" }, invalid, "timezone"},
			{func(s *scheduling.Schedule) { s.Overlap = "wait" }, invalid, "overlap"},
			{func(s *scheduling.Schedule) { s.Org = "org_none" }, invalid, "org_id"},
			{aims(nothing), invalid, "template_id"},
			{aims(both), invalid, "template_id"},
			{aims(answered), invalid, "answers"},
			{aims(scheduling.Target{TemplateID: "tpl_x"}), catalog.TemplateNotFound, "template_id"},
			{aims(ofTemplate), invalid, "run.template_id"},
			{aims(templated), invalid, "run.templated"},
			{aims(hosts), invalid, "run.limit_hosts"},
			{aims(step), invalid, "pipeline.steps[1].templated"},
			{aims(whole), invalid, "pipeline.templated"},
		} {
			_, err := b.Schedules.Create(b.as("usr_1"), nightly(c.edit))
			refused(t, fmt.Sprint(i, " ", c.field), err, c.code, c.field)
		}
		usable := runs.UseRequired.New("inventory_id: this takes the right to use the inventory")
		usable.Fields = []fault.Field{{Location: "inventory_id", Message: "this takes the right to use the inventory"}}
		for i, c := range []struct {
			target  scheduling.Target
			refusal error
			code    fault.Code
			field   string
			input   string
		}{
			{aRun(), fault.BadField("tool", "is unknown"), invalid, "run.tool", "run.tool: is unknown"},
			{aRun(), usable, runs.UseRequired, "run.inventory_id",
				"run.inventory_id: this takes the right to use the inventory"},
			{aPipeline(), fault.BadField("steps[0].name", "is empty"), invalid, "pipeline.steps[0].name",
				"pipeline.steps[0].name: is empty"},
			{aPipeline(), runs.BadGraph.New("a cycle"), runs.BadGraph, "", "a cycle"},
			{nightly().Target, fault.BadField("answers.n", "is too large"), invalid, "answers.n", "answers.n: is too large"},
			{nightly().Target, catalog.TemplateNotFound.New("no template"), catalog.TemplateNotFound, "template_id",
				"template_id: no template \"" + tpl1 + "\""},
			{nightly().Target, runs.UseRequired.New("no"), runs.UseRequired, "template_id",
				"template_id: this takes the right to use the template"},
		} {
			b.fixture.set(func() { b.fixture.refusal = c.refusal })
			_, err := b.Schedules.Create(b.as("usr_1"), nightly(aims(c.target)))
			refused(t, fmt.Sprint(i, " ", c.field), err, c.code, c.field)
			if err == nil || err.Error() != c.input {
				t.Errorf("%v, want %s", err, c.input)
			}
		}
		if e := b.fixture.Take(); len(e) != 0 || len(b.fixture.named) != 0 {
			t.Errorf("what was not made left %+v, %v", e, b.fixture.named)
		}
	})
}

func TestScheduleRights(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.org("org_1")
		b.org("org_2")
		s := b.create(nightly(aims(aRun()), func(s *scheduling.Schedule) { s.Org = "org_1" }))
		b.fixture.Take()
		update := func(org string) error {
			_, err := b.Schedules.Update(b.as("usr_2"), s.ID, 0, nightly(aims(aRun()), func(s *scheduling.Schedule) {
				s.Org = org
			}))
			return err
		}
		b.fixture.set(func() { b.fixture.orgs = map[string]bool{"org_1": false, "": false} })
		_, err := b.Schedules.Create(b.as("usr_2"), nightly())
		refused(t, "create in none", err, scheduling.NotAllowed, "")
		_, err = b.Schedules.Create(b.as("usr_2"), nightly(func(s *scheduling.Schedule) { s.Org = "org_1" }))
		refused(t, "create in one", err, scheduling.NotAllowed, "")
		refused(t, "update", update("org_2"), scheduling.NotAllowed, "")
		refused(t, "delete", b.Schedules.Delete(b.as("usr_2"), s.ID, 0), scheduling.NotAllowed, "")
		b.fixture.set(func() { b.fixture.orgs = map[string]bool{"org_2": false} })
		refused(t, "move to another", update("org_2"), scheduling.NotAllowed, "")
		for _, object := range []string{inv1, prj1, crd1, crd2, "queue:gpu"} {
			b.fixture.set(func() { b.fixture.levels = map[string]access.Level{object: access.None} })
			_, err := b.Schedules.Get(b.as("usr_2"), s.ID)
			for what, err := range map[string]error{"get": err, "update": update("org_1"),
				"delete": b.Schedules.Delete(b.as("usr_2"), s.ID, 0)} {
				refused(t, what+" without "+object, err, scheduling.ScheduleNotFound, "")
			}
		}
		if e := b.fixture.Take(); len(e) != 0 {
			t.Errorf("%+v", e)
		}
		_, err = b.Schedules.Get(b.as("usr_2"), "sch_none")
		refused(t, "an unknown one", err, scheduling.ScheduleNotFound, "")
	})
}

// TestScheduleReadAndListed: reading one schedule and listing all follow the same rule.
func TestScheduleReadAndListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		plain := aRun()
		plain.Run.Queue = ""
		var all []scheduling.Schedule
		for i, target := range []scheduling.Target{{TemplateID: tpl1}, aRun(), aPipeline(), plain} {
			all = append(all, b.create(nightly(aims(target), func(s *scheduling.Schedule) { s.Name = fmt.Sprint(i) })))
		}
		b.fixture.scope = access.Scope{Strict: true, Subjects: []string{"user:usr_2"}}
		objects := []string{tpl1, inv1, inv2, prj1, crd1, crd2, "queue:gpu", "queue:edge", "queue:default"}
		for _, hidden := range objects {
			b.fixture.set(func() { b.fixture.levels = map[string]access.Level{hidden: access.None} })
			b.grant("usr_2", hidden, objects)
			list, _, err := b.Schedules.List(b.as("usr_2"), scheduling.Filter{}, page.Window{})
			if err != nil {
				t.Fatal(err)
			}
			var read []scheduling.Schedule
			for _, s := range all {
				if x, err := b.Schedules.Get(b.as("usr_2"), s.ID); err == nil {
					read = append(read, x)
				}
			}
			same(t, "without "+hidden, read, list)
			if len(read) == len(all) || len(read) == 0 {
				t.Errorf("without %s %d of %d are read", hidden, len(read), len(all))
			}
		}
	})
}

func TestScheduleIsChanged(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		was := b.create(nightly())
		b.fixture.Take()
		got, err := b.Schedules.Update(b.as("usr_2"), was.ID, 1, nightly(aims(aRun()), func(s *scheduling.Schedule) {
			s.Name, s.Cron, s.Timezone, s.Enabled, s.Overlap = "weekly", "@weekly", "", false, scheduling.OverlapAllow
			s.ID, s.CreatedBy, s.Owner, s.LastError = "sch_x", "usr_x", "usr_x", "x"
		}))
		if err != nil {
			t.Fatal(err)
		}
		want := was
		want.Name, want.Cron, want.Timezone, want.Enabled, want.Target = "weekly", "@weekly", "", false, aRun()
		want.Owner, want.Revision, want.NextRunAt, want.Overlap = "usr_2", 2, time.Time{}, scheduling.OverlapAllow
		same(t, "what it returns", want, got)
		same(t, "what it names", []string{crd1, crd2, inv1, prj1}, b.fixture.named[was.ID])
		entries := b.fixture.Take()
		if len(entries) != 1 || entries[0].Action != audit.ScheduleUpdate || entries[0].Detail["owner"] != "usr_2" ||
			entries[0].Detail["enabled"] != false || entries[0].Detail["overlap"] != "allow" {
			t.Errorf("%+v", entries)
		}
		_, err = b.Schedules.Update(b.as("usr_2"), was.ID, 1, nightly())
		refused(t, "an old revision", err, scheduling.RevisionChanged, "")
		if got, err := b.Schedules.Update(b.as("usr_2"), was.ID, 0, nightly()); err != nil || got.Revision != 3 ||
			got.NextRunAt.IsZero() || got.Overlap != scheduling.OverlapSkip {
			t.Errorf("any revision: %+v, %v", got, err)
		}
		refused(t, "deleting an old one", b.Schedules.Delete(b.as("usr_2"), was.ID, 2), scheduling.RevisionChanged, "")
		b.fixture.Take()
		if err := b.Schedules.Delete(b.as("usr_2"), was.ID, 3); err != nil {
			t.Fatal(err)
		}
		if e := b.fixture.Take(); len(e) != 1 || e[0].Action != audit.ScheduleDelete || e[0].Object.ID != was.ID ||
			b.fixture.named[was.ID] != nil {
			t.Errorf("%+v, %v", e, b.fixture.named)
		}
		refused(t, "deleted again", b.Schedules.Delete(b.as("usr_2"), was.ID, 0), scheduling.ScheduleNotFound, "")
	})
}

// TestScheduleKeepsNothingOfTheCaller stores a target with fields that only a firing sets.
func TestScheduleKeepsNothingOfTheCaller(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		target := aRun()
		target.Run.Origin = runs.Origin{Source: runs.FromProposal, RerunOf: "run_1"}
		target.Run.Idempotency = &runs.Idempotency{Key: "mine"}
		got, err := b.Schedules.Get(t.Context(), b.create(nightly(aims(target))).ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(aRun(), got.Target, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
		if target.Run.Idempotency == nil {
			t.Error("the caller's own target was changed")
		}
	})
}
