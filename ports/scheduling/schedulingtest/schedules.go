package schedulingtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

func scheduleCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"whole records":       scheduleWhole,
		"names":               scheduleNames,
		"updates":             scheduleUpdate,
		"revisions":           scheduleRevisions,
		"deletion":            scheduleDelete,
		"filters and windows": scheduleList,
		"a unit rolls back":   scheduleRollback,
		"an unknown org":      scheduleOrg,
	}
}

func scheduleWhole(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]scheduling.Target{"template": answers(), "run": run(), "pipeline": pipeline()} {
		want := e.add(t, func(s *scheduling.Schedule) {
			s.Name, s.Org, s.CreatedBy, s.Owner = name+" "+hard, "org_1", hard, "usr_2"
			s.UpdatedAt, s.Revision = epoch.Add(time.Hour), 7
			s.Cron, s.Timezone, s.Target, s.Overlap = "30 2 * * mon-fri", "Europe/Berlin", target, scheduling.OverlapQueue
			s.NextRunAt, s.LastRunAt = epoch.Add(time.Microsecond), epoch.Add(-time.Minute).Truncate(time.Second)
			s.LastRunID, s.LastError = "run_1", hard
		})
		same(t, name, want, e.get(t, want.ID))
		list, n, err := e.Schedules.ListSchedules(t.Context(), access.Everything(), scheduling.Filter{Name: want.Name},
			page.Window{})
		if err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		same(t, name+" in the list", []scheduling.Schedule{want}, list)
	}
	bare := e.add(t, func(s *scheduling.Schedule) { s.Owner, s.Enabled, s.NextRunAt = "", false, time.Time{} })
	same(t, "one with little", bare, e.get(t, bare.ID))
	_, err := e.Schedules.ScheduleByID(t.Context(), "sch_none")
	refused(t, "an unknown one", err, scheduling.ScheduleNotFound)
}

func scheduleNames(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	named := func(name, org string) func(*scheduling.Schedule) {
		return func(s *scheduling.Schedule) { s.Name, s.Org = name, org }
	}
	e.add(t, named("nightly", ""))
	e.add(t, named("nightly", "org_1"))
	e.add(t, named("Nightly", ""))
	for _, org := range []string{"", "org_1"} {
		err := e.do(t, func(ctx context.Context) error {
			return e.Schedules.InsertSchedule(ctx, e.schedule(named("nightly", org)))
		})
		refused(t, "the name again in "+org, err, scheduling.NameTaken)
		if field(err) != "name" {
			t.Errorf("the fault names %q", field(err))
		}
	}
	other := e.add(t, named("other", ""))
	other.Name = "nightly"
	err := e.do(t, func(ctx context.Context) error {
		_, err := e.Schedules.UpdateSchedule(ctx, other, 0)
		return err
	})
	refused(t, "a rename", err, scheduling.NameTaken)
	if got := e.get(t, other.ID); got.Name != "other" || got.Revision != 1 {
		t.Errorf("it is %+v", got)
	}
}

func scheduleUpdate(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	was := e.add(t, func(s *scheduling.Schedule) {
		s.LastRunAt, s.LastRunID, s.LastError = epoch.Truncate(time.Second), "run_1", "why"
		s.Target = answers()
	})
	change := was
	change.Name, change.Org, change.Owner, change.UpdatedAt = hard, "org_1", "usr_9", epoch.Add(time.Hour)
	change.Cron, change.Timezone, change.Enabled, change.Target = "@daily", "UTC", false, run()
	change.Overlap = scheduling.OverlapAllow
	change.NextRunAt = time.Time{}
	// The store ignores fields that no caller may set.
	change.CreatedBy, change.CreatedAt, change.Revision = "usr_8", epoch.Add(-time.Hour), 40
	change.LastRunAt, change.LastRunID, change.LastError = time.Time{}, "run_9", ""
	var got scheduling.Schedule
	e.must(t, func(ctx context.Context) (err error) {
		got, err = e.Schedules.UpdateSchedule(ctx, change, 1)
		return err
	})
	want := change
	want.CreatedBy, want.CreatedAt, want.Revision = was.CreatedBy, was.CreatedAt, 2
	want.LastRunAt, want.LastRunID, want.LastError = was.LastRunAt, was.LastRunID, was.LastError
	same(t, "what it returns", want, got)
	same(t, "what is stored", want, e.get(t, was.ID))
	if found, _ := e.list(t, access.Everything(), scheduling.Filter{TemplateID: "tpl_2"}, page.Window{}); len(found) != 0 {
		t.Errorf("it is still found by its template: %q", found)
	}
}

func scheduleRevisions(t *testing.T, e *env) {
	s := e.add(t)
	update := func(id string, revision int64) error {
		return e.do(t, func(ctx context.Context) error {
			x := s
			x.ID = id
			_, err := e.Schedules.UpdateSchedule(ctx, x, revision)
			return err
		})
	}
	if err := errors.Join(update(s.ID, 1), update(s.ID, 0), update(s.ID, 3)); err != nil {
		t.Fatal(err)
	}
	refused(t, "an old revision", update(s.ID, 3), scheduling.RevisionChanged)
	refused(t, "an unknown one", update("sch_none", 0), scheduling.ScheduleNotFound)
	refused(t, "an unknown one with a revision", update("sch_none", 1), scheduling.ScheduleNotFound)
	if got := e.get(t, s.ID); got.Revision != 4 {
		t.Errorf("the revision is %d", got.Revision)
	}
}

func scheduleDelete(t *testing.T, e *env) {
	s, other := e.add(t), e.add(t)
	drop := func(id string, revision int64) error {
		return e.do(t, func(ctx context.Context) error { return e.Schedules.DeleteSchedule(ctx, id, revision) })
	}
	refused(t, "another revision", drop(s.ID, 2), scheduling.RevisionChanged)
	if err := drop(s.ID, 1); err != nil {
		t.Fatal(err)
	}
	_, err := e.Schedules.ScheduleByID(t.Context(), s.ID)
	refused(t, "it is gone", err, scheduling.ScheduleNotFound)
	refused(t, "deleted again", drop(s.ID, 0), scheduling.ScheduleNotFound)
	if err := drop(other.ID, 0); err != nil {
		t.Error(err)
	}
}

func scheduleList(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1", "org_2"); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"b", "a", "C", "ä", "a"} {
		e.add(t, func(s *scheduling.Schedule) {
			s.Name, s.Org = name, []string{"", "", "org_1", "org_1", "org_2"}[i]
			s.Target = []scheduling.Target{{TemplateID: "tpl_1"}, {TemplateID: "tpl_9"}, run(), pipeline(),
				{TemplateID: "tpl_9"}}[i]
		})
	}
	for _, c := range []struct {
		f     scheduling.Filter
		w     page.Window
		want  []string
		total int
	}{
		{want: []string{"C", "a", "a", "b", "ä"}, total: 5},
		{w: page.Window{Limit: 2, Offset: 2}, want: []string{"a", "b"}, total: 5},
		{w: page.Window{Offset: 9}, want: []string{}, total: 5},
		{f: scheduling.Filter{Name: "a"}, want: []string{"a", "a"}, total: 2},
		{f: scheduling.Filter{Names: []string{"C", "a"}}, want: []string{"C", "a", "a"}, total: 3},
		{f: scheduling.Filter{Names: []string{"C", "' OR 1 = 1 --"}, Org: "org_2"}, want: []string{}, total: 0},
		{f: scheduling.Filter{Org: "org_1"}, want: []string{"C", "ä"}, total: 2},
		{f: scheduling.Filter{TemplateID: "tpl_9"}, want: []string{"a", "a"}, total: 2},
		{f: scheduling.Filter{TemplateID: "tpl_9", Org: "org_2", Name: "a"}, want: []string{"a"}, total: 1},
		{f: scheduling.Filter{Name: "a' OR '1'='1"}, want: []string{}, total: 0},
	} {
		got, total := e.list(t, access.Everything(), c.f, c.w)
		same(t, "list", c.want, got)
		if total != c.total {
			t.Errorf("%+v: a total of %d, want %d", c.f, total, c.total)
		}
	}
}

func scheduleRollback(t *testing.T, e *env) {
	lost := errors.New("lost")
	kept, never := e.add(t), e.schedule()
	err := e.do(t, func(ctx context.Context) error {
		if err := e.Schedules.InsertSchedule(ctx, never); err != nil {
			return err
		}
		if err := e.Schedules.DeleteSchedule(ctx, kept.ID, 0); err != nil {
			return err
		}
		return lost
	})
	if !errors.Is(err, lost) {
		t.Fatal(err)
	}
	same(t, "it stays", kept, e.get(t, kept.ID))
	_, err = e.Schedules.ScheduleByID(t.Context(), never.ID)
	refused(t, "it never was", err, scheduling.ScheduleNotFound)
	if err := e.Schedules.InsertSchedule(t.Context(), never); err == nil {
		t.Error("a schedule is stored outside of a unit")
	}
}

func scheduleOrg(t *testing.T, e *env) {
	s := e.add(t)
	s.Org = "org_none"
	for name, fn := range map[string]func(ctx context.Context) error{
		"insert": func(ctx context.Context) error {
			return e.Schedules.InsertSchedule(ctx, e.schedule(func(x *scheduling.Schedule) { x.Org = "org_none" }))
		},
		"update": func(ctx context.Context) error {
			_, err := e.Schedules.UpdateSchedule(ctx, s, 0)
			return err
		},
		"trigger": func(ctx context.Context) error {
			return e.Triggers.InsertTrigger(ctx, e.trigger(func(x *scheduling.StoredTrigger) { x.Org = "org_none" }))
		},
	} {
		if err := e.do(t, fn); field(err) != "org_id" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
