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
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// ChangeStores are the stores under test. They share one database. Restrict hides an object from everyone except the
// named subjects.
type ChangeStores struct {
	Unit      tx.Unit
	Runs      runs.Store
	Summaries runs.SummaryStore
	Purger    runs.Purger
	Changes   estate.ChangeStore
	Restrict  func(ctx context.Context, object string, readers ...string) error
}

// RunChanges tests a ChangeStore against its contract.
func RunChanges(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s ChangeStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[*changes]{
		"the newest runs": changesNewest, "who acted": changesActors, "hidden texts": changesHidden,
		"touched hosts": changesTouched, "rights": changesRights, "deleted runs": changesDeleted,
	}, each, func(s ChangeStores) *changes { return &changes{ChangeStores: s} })
}

type changes struct {
	ChangeStores
	n int
}

func readerOf(subjects ...string) access.Scope { return access.Scope{Subjects: subjects} }

// add stores a run. Runs are a minute apart.
func (c *changes) add(t *testing.T, change string, edit ...func(r *runs.Run)) *runs.Run {
	t.Helper()
	c.n++
	r := &runs.Run{ID: fmt.Sprintf("run_%026d", c.n), Kind: runs.Single, Status: runs.Succeeded, Change: change,
		Spec: runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue}, Actor: actor.Actor{Name: "ada"},
		CreatedAt: txtest.At(time.Duration(c.n) * time.Minute),
		EndedAt:   txtest.At(time.Duration(c.n)*time.Minute + time.Second)}
	for _, fn := range edit {
		fn(r)
	}
	if err := c.Unit.Do(t.Context(), func(ctx context.Context) error { return c.Runs.Insert(ctx, r) }); err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *changes) ids(t *testing.T, change string, limit int, s access.Scope) []string {
	t.Helper()
	list, err := c.Changes.ChangeRuns(t.Context(), change, limit, s)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func (c *changes) check(t *testing.T, what string, got any, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func changesNewest(t *testing.T, c *changes) {
	one := c.add(t, "CHG-1")
	c.add(t, "")
	two := c.add(t, txtest.Odd)
	three := c.add(t, "CHG-1", func(r *runs.Run) {
		r.Status, r.EndedAt, r.Origin.RetryOf, r.Origin.RerunOf = runs.Running, time.Time{}, one.ID, two.ID
	})
	c.add(t, "CHG-1", func(r *runs.Run) { r.Kind, r.ParentID = runs.Shard, three.ID })
	all := access.Everything()
	c.check(t, "all", c.ids(t, "", 9, all), []string{three.ID, two.ID, one.ID})
	c.check(t, "two", c.ids(t, "", 2, all), []string{three.ID, two.ID})
	c.check(t, "one change", c.ids(t, "CHG-1", 9, all), []string{three.ID, one.ID})
	c.check(t, "an odd one", c.ids(t, txtest.Odd, 9, all), []string{two.ID})
	c.check(t, "no such one", c.ids(t, "CHG-%", 9, all), []string{})
	list, err := c.Changes.ChangeRuns(t.Context(), "", 1, all)
	if err != nil {
		t.Fatal(err)
	}
	c.check(t, "a record", list, []estate.ChangeRun{{Seq: three.Seq, ID: three.ID, Change: "CHG-1", Status: runs.Running,
		RetryOf: one.ID, RerunOf: two.ID, Actors: []string{"ada"}, CreatedAt: three.CreatedAt}})
}

func changesActors(t *testing.T, c *changes) {
	who := func(name string) actor.Actor { return actor.Actor{Type: actor.User, ID: "usr_" + name, Name: name} }
	c.add(t, "CHG-1", func(r *runs.Run) {
		r.Actor = actor.Actor{Type: actor.User, ID: "usr_erased"}
		r.Approvals = &runs.Approvals{Given: []runs.Approval{{By: who("bob")}, {By: who("cleo")}}}
		r.Decision = &runs.Decision{By: who("cleo"), Verdict: runs.Approved}
		r.Canceled = &runs.Cancellation{By: who("dan")}
	})
	list, err := c.Changes.ChangeRuns(t.Context(), "", 1, access.Everything())
	if err != nil {
		t.Fatal(err)
	}
	c.check(t, "actors", list[0].Actors, []string{"usr_erased", "cleo", "dan", "bob"})
}

func changesHidden(t *testing.T, c *changes) {
	shown := c.add(t, "s3cret")
	hiding := c.add(t, "s3cret", func(r *runs.Run) { r.Hidden.Submitted = []string{runs.TextDigest("s3cret")} })
	all := access.Everything()
	c.check(t, "by name", c.ids(t, "s3cret", 9, all), []string{shown.ID})
	list, err := c.Changes.ChangeRuns(t.Context(), "", 9, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].ID != hiding.ID || list[0].Change != "" || list[1].Change != "s3cret" {
		t.Errorf("%+v", list)
	}
	if err := c.Restrict(t.Context(), access.Queue(runs.DefaultQueue)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Changes.Withheld(t.Context(), "s3cret", readerOf("user:usr_1")); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func changesTouched(t *testing.T, c *changes) {
	report := func(r *runs.Run, hosts ...string) {
		list := make([]runs.HostSummary, len(hosts))
		for i, h := range hosts {
			list[i] = runs.HostSummary{Host: h, OK: 1, Worst: runs.HostOK}
		}
		if err := c.Unit.Do(t.Context(), func(ctx context.Context) error {
			return c.Summaries.SaveHosts(ctx, r.ID, list)
		}); err != nil {
			t.Fatal(err)
		}
	}
	one, none := c.add(t, "CHG-1"), c.add(t, "CHG-1")
	split := c.add(t, "CHG-2", func(r *runs.Run) { r.Kind = runs.Split })
	report(one, "web1", "B", "a")
	for i, hosts := range [][]string{{"web1", "web2"}, {"web3"}} {
		report(c.add(t, "CHG-2", func(r *runs.Run) { r.Kind, r.ParentID, r.ShardIndex = runs.Shard, split.ID, i }), hosts...)
	}
	lists := [][]int64{{one.Seq, none.Seq}, {split.Seq}, {one.Seq, split.Seq}, {none.Seq}, {}}
	got, err := c.Changes.Touched(t.Context(), lists)
	if err != nil {
		t.Fatal(err)
	}
	c.check(t, "counts", got, []int{3, 3, 5, 0, 0})
	names, err := c.Changes.TouchedHosts(t.Context(), lists[2])
	if err != nil {
		t.Fatal(err)
	}
	c.check(t, "names", names, []string{"B", "a", "web1", "web2", "web3"})
	for _, of := range [][][]int64{nil, {{}}} {
		if got, err := c.Changes.Touched(t.Context(), of); err != nil || len(got) != len(of) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if names, err := c.Changes.TouchedHosts(t.Context(), nil); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// changesRights compares with a decision about each run alone.
func changesRights(t *testing.T, c *changes) {
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		draws++
		at, group := c.n, fmt.Sprint(draws, "-") // the objects and changes of this draw
		readers := map[string][]string{}
		for i := range rapid.IntRange(0, 3).Draw(rt, "restricted") {
			object := group + fmt.Sprint("inv_", i)
			readers[object] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"user:a", "user:b"}), 0, 2,
				rapid.ID[string]).Draw(rt, "readers")
			if err := c.Restrict(t.Context(), object, readers[object]...); err != nil {
				rt.Fatal(err)
			}
		}
		type drawn struct {
			id, change string
			objects    []string
		}
		var all []drawn
		for range rapid.IntRange(0, 8).Draw(rt, "runs") {
			d := drawn{change: group + rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "change")}
			for i := range rapid.IntRange(0, 2).Draw(rt, "objects") {
				d.objects = append(d.objects, group+fmt.Sprint("inv_", (i+len(all))%4))
			}
			d.id = c.add(t, d.change, func(r *runs.Run) {
				if r.Objects = slices.Clone(d.objects); len(r.Objects) == 0 {
					r.Objects = []string{access.Queue(runs.DefaultQueue)}
				}
			}).ID
			all = append(all, d)
		}
		who := rapid.SampledFrom([]string{"user:a", "user:b", "user:c"}).Draw(rt, "who")
		want, withheld := map[string][]string{}, map[string]int{}
		for _, d := range slices.Backward(all) {
			hidden := slices.ContainsFunc(d.objects, func(o string) bool {
				list, restricted := readers[o]
				return restricted && !slices.Contains(list, who)
			})
			if hidden {
				withheld[d.change]++
				continue
			}
			want[d.change] = append(want[d.change], d.id)
			want[""] = append(want[""], d.id)
		}
		for _, change := range []string{group + "x", group + "y", ""} {
			got := c.ids(t, change, 1000, readerOf(who))
			if change == "" { // with those of the draws before
				got = slices.DeleteFunc(got, func(id string) bool { return id <= fmt.Sprintf("run_%026d", at) })
			}
			if !slices.Equal(got, want[change]) {
				rt.Fatalf("%s reads of %q %s, not %s", who, change, strings.Join(got, " "), strings.Join(want[change], " "))
			}
			if change == "" {
				continue
			}
			if n, err := c.Changes.Withheld(t.Context(), change, readerOf(who)); err != nil || n != withheld[change] {
				rt.Fatalf("%d are withheld, %v, not %d", n, err, withheld[change])
			}
		}
	})
	if n, err := c.Changes.Withheld(t.Context(), "x", access.Everything()); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

// changesDeleted states that a change is made of the runs that there are.
func changesDeleted(t *testing.T, c *changes) {
	c.add(t, "CHG-1")
	kept := c.add(t, "CHG-1")
	if err := c.Unit.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.Purger.PurgeRuns(ctx, kept.CreatedAt, 9)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c.check(t, "all", c.ids(t, "", 9, access.Everything()), []string{kept.ID})
}
