package schedulingtest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

func scopeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what may be read":    scopeShows,
		"every name of a run": scopeNames,
		"triggers":            scopeTriggers,
		"whatever is granted": scopeAnything,
	}
}

// The readers. A stranger has no grants; ada has those of the case, herself or by her team.
var (
	stranger = access.Scope{Subjects: []string{"user:usr_none"}}
	ada      = access.Scope{Subjects: []string{"user:usr_1", "team:team_1"}}
)

func (e *env) restrict(t *testing.T, r Restriction) {
	t.Helper()
	if err := e.Restrict(t.Context(), r); err != nil {
		t.Fatalf("restrict %s: %v", r.Object, err)
	}
}

func aims(name string, target scheduling.Target) func(*scheduling.Schedule) {
	return func(s *scheduling.Schedule) { s.Name, s.Target = name, target }
}

func scopeShows(t *testing.T, e *env) {
	e.add(t, aims("a template", scheduling.Target{TemplateID: "tpl_1"}))
	e.add(t, aims("b run", run()))
	e.add(t, aims("c pipeline", pipeline()))
	all := []string{"a template", "b run", "c pipeline"}
	shows := func(what string, reader access.Scope, want ...string) {
		t.Helper()
		got, total := e.list(t, reader, scheduling.Filter{}, page.Window{})
		same(t, what, append([]string{}, want...), got)
		if total != len(want) {
			t.Errorf("%s: a total of %d", what, total)
		}
	}
	shows("nothing is restricted", stranger, all...)
	shows("strict", access.Scope{Strict: true, Subjects: ada.Subjects})
	e.restrict(t, Restriction{Object: "tpl_1", Readers: []string{"user:usr_1"}})
	shows("the template is restricted", stranger, "b run", "c pipeline")
	shows("and granted", ada, all...)
	e.restrict(t, Restriction{Object: "queue:edge", Readers: []string{"team:team_2"}})
	shows("the queue of a step is restricted", ada, "a template", "b run")
	e.restrict(t, Restriction{Object: "queue:edge", Readers: []string{"team:team_2", "team:team_1"}})
	shows("and granted to the team", ada, all...)
	shows("everything", access.Everything(), all...)
	e.restrict(t, Restriction{Object: "inv_1", Org: "org_1"})
	shows("an inventory of an organization", ada, "a template")
	shows("and its administrator", access.Scope{Subjects: ada.Subjects, Orgs: []string{"org_1"}}, all...)
	shows("another one's", access.Scope{Subjects: ada.Subjects, Orgs: []string{"org_2"}}, "a template")
	// After a change the objects of the new target count.
	got, _, err := e.Schedules.ListSchedules(t.Context(), access.Everything(), scheduling.Filter{Name: "a template"},
		page.Window{})
	if err != nil || len(got) != 1 {
		t.Fatal(err)
	}
	got[0].Target = run()
	e.update(t, got[0])
	shows("a template became a run", ada)
}

// scopeNames restricts each object of a target, one at a time.
func scopeNames(t *testing.T, e *env) {
	e.add(t, aims("run", run()))
	e.add(t, aims("pipeline", pipeline()))
	plain := run()
	plain.Run.Queue = ""
	e.add(t, aims("in the default queue", plain))
	for object, hidden := range map[string][]string{
		"inv_1": {"run", "pipeline", "in the default queue"}, "prj_1": {"run", "pipeline", "in the default queue"},
		"queue:gpu": {"run", "pipeline"}, "crd_1": {"run", "pipeline", "in the default queue"},
		"crd_2": {"run", "pipeline", "in the default queue"},
		"inv_2": {"pipeline"}, "queue:edge": {"pipeline"}, "queue:default": {"in the default queue"},
	} {
		e.restrict(t, Restriction{Object: object})
		got, _ := e.list(t, stranger, scheduling.Filter{}, page.Window{})
		for _, name := range []string{"run", "pipeline", "in the default queue"} {
			if slices.Contains(hidden, name) == slices.Contains(got, name) {
				t.Errorf("with %s restricted %q are shown", object, got)
			}
		}
		e.restrict(t, Restriction{Object: object, Readers: stranger.Subjects})
		if got, _ := e.list(t, stranger, scheduling.Filter{}, page.Window{}); len(got) != 3 {
			t.Errorf("with %s granted %q are shown", object, got)
		}
	}
}

func scopeTriggers(t *testing.T, e *env) {
	for i := range 3 {
		e.hook(t, func(x *scheduling.StoredTrigger) { x.TemplateID = fmt.Sprint("tpl_", i) })
	}
	e.restrict(t, Restriction{Object: "tpl_1", Readers: []string{"team:team_1"}})
	for _, c := range []struct {
		reader access.Scope
		want   int
	}{{stranger, 2}, {ada, 3}, {access.Everything(), 3}, {access.Scope{Strict: true, Subjects: ada.Subjects}, 1},
		{access.Scope{Strict: true}, 0}} {
		list, total, err := e.Triggers.ListTriggers(t.Context(), c.reader, scheduling.Filter{}, page.Window{})
		if err != nil || len(list) != c.want || total != c.want {
			t.Errorf("%+v: %d of %d, want %d, %v", c.reader, len(list), total, c.want, err)
		}
	}
}

// scopeAnything compares lists with the rule for each schedule.
func scopeAnything(t *testing.T, e *env) {
	objects := []string{"inv_1", "inv_2", "prj_1", "queue:gpu", "queue:edge", "crd_1", "crd_2"}
	named := map[string][]string{
		"run": {"crd_1", "crd_2", "inv_1", "prj_1", "queue:gpu"}, "pipeline": objects, "template": {"tpl_7"},
	}
	e.add(t, aims("run", run()))
	e.add(t, aims("pipeline", pipeline()))
	e.add(t, aims("template", scheduling.Target{TemplateID: "tpl_7"}))
	rapid.Check(t, func(rt *rapid.T) {
		granted := map[string]bool{}
		for _, o := range append([]string{"tpl_7"}, objects...) {
			granted[o] = rapid.Bool().Draw(rt, o)
			r := Restriction{Object: o, Readers: []string{"user:other"}}
			if granted[o] {
				r.Readers = append(r.Readers, ada.Subjects[rapid.IntRange(0, 1).Draw(rt, "subject")])
			}
			if err := e.Restrict(t.Context(), r); err != nil {
				rt.Fatal(err)
			}
		}
		got, _ := e.list(t, ada, scheduling.Filter{}, page.Window{})
		for name, list := range named {
			want := !slices.ContainsFunc(list, func(o string) bool { return !granted[o] })
			if slices.Contains(got, name) != want {
				rt.Errorf("granted %v, %s is shown %t, want %t", granted, name, !want, want)
			}
		}
	})
}
