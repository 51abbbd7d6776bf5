package estatetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// whoMayRead compares what readers are told with a reference that asks about the run of each finding alone.
func whoMayRead(t *testing.T, e *driftEnv) {
	team := e.AddTeam(t)
	objects := []string{access.Queue(runs.DefaultQueue), access.Queue("a"), access.Queue("b"), e.Known(t, ids.Inventory),
		e.Known(t, ids.Project)}
	e.Grant(t, team, objects[0])
	e.Grant(t, team, objects[3])
	e.Know(t, objects[1], "")
	e.Grant(t, e.AddTeam(t), objects[1]) // restricts it to others
	granted := map[string]bool{objects[0]: true, objects[3]: true}
	readers := map[string]struct {
		scope access.Scope
		may   func(object string) bool
	}{
		"strict":  {access.Scope{Strict: true, Subjects: []string{team}}, func(o string) bool { return granted[o] }},
		"nothing": {access.Scope{Strict: true}, func(string) bool { return false }},
		"all":     {access.Everything(), func(string) bool { return true }},
	}
	model := map[string][]string{} // the objects of the run of each finding and of the newest run of each host
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		of := rapid.SliceOfNDistinct(rapid.SampledFrom(objects), 1, 3, rapid.ID[string]).Draw(rt, "objects")
		name := rapid.SampledFrom([]string{"h", "i", "j"}).Draw(rt, "host")
		var findings []string
		for _, f := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a /1", "a /2", "b /3"}),
			rapid.ID[string]).Draw(rt, "found") {
			findings = append(findings, f)
		}
		state := rapid.SampledFrom([]estate.TaskState{known, unknown}).Draw(rt, "state")
		c := report(n, false, twoTasks, host(name, states(state, state), findings...))
		c.Run.Objects = of
		e.apply(t, c)
		for key := range model {
			if state == known && strings.HasPrefix(key, name+" ") {
				delete(model, key)
			}
		}
		for _, f := range findings {
			_, resource, _ := strings.Cut(f, " ")
			model[name+" "+resource] = of
		}
		model["="+name] = of
		for who, r := range readers {
			readable := func(of []string) bool {
				return !slices.ContainsFunc(of, func(o string) bool { return !r.may(o) })
			}
			for _, only := range []string{"", "h"} {
				var want, got struct {
					Shown, Hosts    []string
					Total, Withheld int
				}
				for key, of := range model {
					at, coverage := strings.CutPrefix(key, "=")
					at, _, _ = strings.Cut(at, " ")
					in := only == "" || at == only
					switch {
					case coverage && in && readable(of):
						want.Hosts = append(want.Hosts, at)
					case coverage:
					case !readable(of):
						want.Withheld++
					case in:
						want.Shown, want.Total = append(want.Shown, key), want.Total+1
					}
				}
				slices.Sort(want.Shown)
				slices.Sort(want.Hosts)
				p, err := e.Drift.Findings(t.Context(), estate.DriftQuery{Host: only}, r.scope, later())
				txtest.NoError(t, err)
				drifted := 0
				for _, f := range p.Findings {
					got.Shown = append(got.Shown, f.Host+" "+f.Resource)
				}
				for _, h := range p.Coverage {
					got.Hosts, drifted = append(got.Hosts, h.Host), drifted+h.Drifted
				}
				got.Total, got.Withheld = p.Total, p.Withheld
				if d := cmp.Diff(want, got); d != "" || drifted > p.Total || p.Hosts != len(got.Hosts) {
					rt.Fatalf("%s of %q, %d drifted: %s", who, only, drifted, d)
				}
			}
		}
	})
}

func ignoreRules(e *driftEnv) objecttest.Store[estate.Ignore] {
	s := e.Ignores
	return objecttest.Store[estate.Ignore]{
		Prefix: ids.DriftIgnore, Missing: estate.IgnoreNotFound, Shared: true,
		Record: func(i *estate.Ignore) *object.Record { return &i.Record },
		Plain: func(r object.Record) estate.Ignore {
			return estate.Ignore{Record: r, Host: "h", Resource: "r", Reason: "x"}
		},
		Full: func(r object.Record) estate.Ignore {
			return estate.Ignore{Record: r, Host: txtest.Odd, Resource: "*" + txtest.Odd, Reason: txtest.Odd,
				ExpiresAt: txtest.At(time.Hour)}
		},
		Change: func(i *estate.Ignore) {
			i.Host, i.Resource, i.Reason, i.ExpiresAt = "'a'", "'b'", "'c'", txtest.At(2*time.Hour)
		},
		Insert: s.Insert, ByID: s.ByID, Update: s.Update, Remove: s.Delete,
		List: func(ctx context.Context, _ access.Scope, f catalog.Filter, w page.Window) ([]estate.Ignore, int, error) {
			return s.List(ctx, f.Name, w)
		},
	}
}

func (e *driftEnv) ignore(t *testing.T, host, resource string, expires time.Time) {
	t.Helper()
	i := estate.Ignore{Record: e.Record(ids.DriftIgnore, ""), Host: host, Resource: resource, Reason: "x",
		ExpiresAt: expires}
	e.Must(t, func(ctx context.Context) error { return e.Ignores.Insert(ctx, i) })
}

func leftOut(t *testing.T, e *driftEnv) {
	one := host("web1", states(known), "a file /a", "a file /b")
	one.Checked = 1
	e.apply(t, report(1, false, twoTasks, one, host("db1", states(known), "a file /a")))
	e.ignore(t, "web*", "file /a", later())
	e.ignore(t, "*", "* /b", time.Time{})
	ask := func(at time.Time) (text string) {
		p, err := e.Drift.Findings(t.Context(), estate.DriftQuery{}, access.Everything(), at)
		txtest.NoError(t, err)
		for _, f := range p.Findings {
			text += f.Host + " " + f.Resource + ", "
		}
		return text + fmt.Sprint(p.Total, p.Ignored, p.Withheld, p.Coverage[1].Drifted)
	}
	txtest.Same(t, "in force", "db1 file /a, 1 2 0 0", ask(later().Add(-time.Microsecond)))
	txtest.Same(t, "when one has expired", "db1 file /a, web1 file /a, 2 1 0 1", ask(later()))
	rules, err := e.Ignores.Active(t.Context(), later())
	txtest.NoError(t, err)
	txtest.Same(t, "active", 1, len(rules))
}

// patterns compares what a list leaves out with what a rule fits.
func patterns(t *testing.T, e *driftEnv) {
	texts := []string{"web1", "WEB1", "web%1", "web_1", "w?b1", "[web]1", `w\b1`, "web11", "", "é*", "a\nb", "web1web1"}
	var list []string
	for _, r := range texts {
		list = append(list, "a "+r)
	}
	e.apply(t, report(1, false, twoTasks, host("h", states(known), list...)))
	n := 0
	var rules []estate.Ignore
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 40 {
			return
		}
		p := rapid.StringOfN(rapid.SampledFrom([]rune(`*webWEB1%_?[]\é`)), 1, 6, -1).Draw(rt, "pattern")
		for _, r := range rules {
			e.Must(t, func(ctx context.Context) error { return e.Ignores.Delete(ctx, r.ID, 0) })
		}
		r := estate.Ignore{Record: e.Record(ids.DriftIgnore, ""), Host: "*", Resource: p, Reason: "x"}
		e.Must(t, func(ctx context.Context) error { return e.Ignores.Insert(ctx, r) })
		rules = []estate.Ignore{r}
		var want []string
		for _, text := range texts {
			if !r.Fits("h", text) {
				want = append(want, text)
			}
		}
		var got []string
		for _, f := range e.all(t).Findings {
			got = append(got, f.Resource)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("%q: %s", p, d)
		}
	})
}

// plannedAndApplied finds, clears and repairs what plans have, which are about one host with one task.
func plannedAndApplied(t *testing.T, e *driftEnv) {
	tell := func(n int, real bool, findings ...string) []estate.Finding {
		h := host("Web", states(known), findings...)
		if h.Whole = !real; real {
			h.Changed = []int{0}
		}
		c := report(n, real, []string{"plan"}, h)
		c.Target = estate.PlannedTarget(&runs.Spec{TemplateID: "tpl_1"}, "digest", "Web")
		return e.apply(t, c)
	}
	txtest.Same(t, "new ones", 2, len(tell(1, false, "plan a", "plan b")))
	txtest.Same(t, "new ones", 1, len(tell(2, false, "plan a", "plan c")))
	txtest.Same(t, "after a later plan", "Web a, Web c", e.shown(t))
	tell(3, true)
	txtest.Same(t, "after a run that applied it", "", e.shown(t))
	found := tell(4, false, "plan a")
	txtest.Same(t, "found again", true, len(found) == 1 && found[0].Confidence == estate.ConfidentNone)
	tell(5, true)
	txtest.Same(t, "found a third time", 0, len(tell(6, false, "plan a")))
	txtest.Same(t, "listed", "Web a", e.shown(t))
	tell(7, false)
	txtest.Same(t, "after a plan without findings", "", e.shown(t))
	p := e.all(t)
	txtest.Same(t, "the only host", true, p.Hosts == 1 && p.Coverage[0].Host == "Web")
}

// goneHosts makes dry runs of all hosts, of which some are in the inventory no more.
func goneHosts(t *testing.T, e *driftEnv) {
	all := func(n int, inventory []string, hosts ...string) {
		c := report(n, false, twoTasks)
		for _, name := range hosts {
			h := host(name, states(known), "a /a")
			h.Checked, h.At = 1, txtest.At(time.Duration(n)*time.Second)
			c.Hosts = append(c.Hosts, h)
		}
		c.AllHosts, c.Inventory, c.Run.EndedAt = true, inventory, txtest.At(time.Duration(n)*time.Second+time.Millisecond)
		e.apply(t, c)
	}
	other := report(1, false, twoTasks, host("h", states(known), "a /b"))
	other.Target = estate.TargetOf(&runs.Spec{Playbook: "other.yml"})
	e.apply(t, other)
	hosts := []string{"h", "i", "made", "localhost"}
	all(2, []string{"h", "i"}, hosts...)
	one := report(3, false, twoTasks, host("i", states(known), "a /a"))
	one.Inventory = []string{"i"}
	e.apply(t, one)
	all(4, nil, "i")
	all(4, []string{"h", "i"}, "made")
	txtest.Same(t, "of some hosts, without an inventory, and of those in it", "h /a, h /b, i /a, localhost /a, made /a",
		e.shown(t))
	all(1, []string{"i"}, "i")
	txtest.Same(t, "after an older one", 4, e.all(t).Hosts)
	all(5, []string{"i"}, "i")
	txtest.Same(t, "without h, and what was made", "h /b, i /a, localhost /a", e.shown(t))
	txtest.Same(t, "hosts", 3, e.all(t).Hosts)
	all(6, []string{}, "new")
	txtest.Same(t, "of an empty inventory", "h /b, localhost /a, new /a", e.shown(t))
	c := report(7, false, twoTasks, host("new", states(known), "a /a"))
	at := txtest.At(estate.KeepUnchecked + time.Hour)
	c.AllHosts, c.Run.EndedAt, c.Hosts[0].At = true, at, at
	e.Must(t, func(ctx context.Context) error {
		_, err := e.Drift.Apply(ctx, c, at)
		return err
	})
	txtest.Same(t, "without what was not checked for long", "h /b, new /a", e.shown(t))
}
