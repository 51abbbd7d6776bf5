package runstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func objectCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"they survive":                    objectsSurvive,
		"every way to read a run":         objectsEverywhere,
		"children have their own":         objectsOfChildren,
		"a record without any":            objectsDerived,
		"an unknown run":                  objectsUnknown,
		"a unit that fails leaves none":   objectsRolledBack,
		"the same ones at once":           objectsAtOnce,
		"they stay when their runs go":    objectsOutliveRuns,
		"a caller may keep what it reads": objectsAreCopies,
		"who has not ended names them":    objectsUnfinished,
		"who has not ended needs one":     credentialsUnfinished,
	}
}

func objectsUnfinished(t *testing.T, e *env) {
	var want []string
	for i, status := range []runs.Status{runs.PendingApproval, runs.Succeeded, runs.Pending, runs.Failed, runs.Running,
		runs.Canceled, runs.Rejected, runs.Interrupted} {
		r := e.add(t, naming("inv_1", "queue:default"), func(r *runs.Run) {
			r.Status, r.CreatedAt = status, r.CreatedAt.Add(time.Duration(i)*time.Second)
		})
		if !status.Terminal() {
			want = append(want, r.ID)
		}
	}
	e.add(t, naming("inv_2", "queue:default"))
	for object, all := range map[string][]string{"inv_1": want, "inv_3": nil} {
		for _, limit := range []int{10, 2, 0} {
			list, total, err := e.Objects.Unfinished(t.Context(), object, limit)
			if d := diff(all[:min(limit, len(all))], list); err != nil || total != len(all) ||
				len(list)+limit > 0 && len(all) > 0 && d != "" {
				t.Errorf("%s, %d: %v, %d, %v", object, limit, list, total, err)
			}
		}
	}
}

// naming sets the objects of a run.
func naming(objects ...string) func(*runs.Run) {
	return func(r *runs.Run) { r.Objects = objects }
}

func (e *env) objects(t *testing.T, id string) []string {
	t.Helper()
	list, err := e.Objects.Objects(t.Context(), id)
	if err != nil {
		t.Fatalf("objects of %s: %v", id, err)
	}
	return list
}

func objectsSurvive(t *testing.T, e *env) {
	for _, want := range [][]string{
		{"queue:default"}, {"queue:gpu"}, {"inv_1", "queue:default"}, {"inv_1", "prj_1", "queue:gpu", "tpl_1"},
		{"queue:gpu"}, {"queue:it's \"odd\" ?"}, {"inv_1", "queue:default"},
	} {
		r := e.add(t, naming(want...))
		if d := diff(want, e.get(t, r.ID).Objects); d != "" {
			t.Errorf("the record's objects:\n%s", d)
		}
		if d := diff(want, e.objects(t, r.ID)); d != "" {
			t.Errorf("the objects:\n%s", d)
		}
	}
	r := e.add(t, naming("queue:gpu", "inv_1", "queue:gpu"))
	if d := diff([]string{"inv_1", "queue:gpu"}, e.objects(t, r.ID)); d != "" {
		t.Errorf("in another order and twice:\n%s", d)
	}
}

func objectsEverywhere(t *testing.T, e *env) {
	want := []string{"inv_1", "queue:default"}
	r := e.add(t, naming(want...))
	a := e.claim(t, "w1", ttl)
	held, err := e.Queue.Leased(t.Context(), "w1")
	if err != nil || len(held) != 1 {
		t.Fatalf("held: %v, %v", held, err)
	}
	var locked *runs.Run
	e.must(t, func(ctx context.Context) (err error) {
		locked, err = e.Runs.Lock(ctx, r.ID)
		return err
	})
	moved := e.finish(t, a, runs.Succeeded, at(time.Hour))
	for name, got := range map[string]*runs.Run{"claim": a.Run, "held": held[0], "lock": locked, "move": moved,
		"get": e.get(t, r.ID)} {
		if d := diff(want, got.Objects); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	if l := e.list(t, runs.Filter{}); l.Runs[0].Objects != nil {
		t.Errorf("a list tells %v", l.Runs[0].Objects)
	}
}

func objectsOfChildren(t *testing.T, e *env) {
	p := e.add(t, asSplit, naming("inv_1", "queue:gpu"))
	c := e.add(t, childOf(p, runs.Shard, 0), naming(p.Objects...))
	list, err := e.Runs.Children(t.Context(), p.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("children: %v, %v", list, err)
	}
	if d := diff(p.Objects, list[0].Objects); d != "" {
		t.Errorf("a child among children:\n%s", d)
	}
	if d := diff(p.Objects, e.objects(t, c.ID)); d != "" {
		t.Errorf("a child:\n%s", d)
	}
}

func objectsDerived(t *testing.T, e *env) {
	r := e.add(t, naming(), func(r *runs.Run) { r.Spec.Queue, r.Spec.InventoryID = "gpu", "inv_1" })
	want := []string{"inv_1", "queue:gpu"}
	if d := diff(want, e.objects(t, r.ID)); d != "" {
		t.Errorf("what the record names:\n%s", d)
	}
	if d := diff(want, r.Objects); d != "" {
		t.Errorf("the record that was inserted:\n%s", d)
	}
}

func objectsUnknown(t *testing.T, e *env) {
	_, err := e.Objects.Objects(t.Context(), "run_none")
	wantFault(t, err, runs.RunNotFound)
	_, same := e.Runs.ByID(t.Context(), "run_none")
	if err.Error() != same.Error() {
		t.Errorf("%q is not %q", err, same)
	}
}

func objectsRolledBack(t *testing.T, e *env) {
	no := errors.New("no")
	for i, set := range [][]string{{"queue:a"}, {"queue:b"}, {"queue:a", "queue:b"}} {
		r := e.bare(naming(set...))
		if err := e.do(t, func(ctx context.Context) error {
			return errors.Join(e.Runs.Insert(ctx, r), no)
		}); !errors.Is(err, no) {
			t.Fatal(err)
		}
		// The next scope may get the number of the one that was rolled back.
		other, same := e.add(t, naming(fmt.Sprint("queue:other", i))), e.add(t, naming(set...))
		if d := diff(set, e.objects(t, same.ID)); d != "" {
			t.Errorf("the set:\n%s", d)
		}
		if d := diff([]string{fmt.Sprint("queue:other", i)}, e.objects(t, other.ID)); d != "" {
			t.Errorf("the other set:\n%s", d)
		}
	}
}

func objectsAtOnce(t *testing.T, e *env) {
	const writers = 16
	for round := range 5 {
		set := []string{fmt.Sprint("inv_", round), "queue:gpu"}
		var wg sync.WaitGroup
		ids := make([]string, writers)
		for i := range writers {
			r := e.bare(naming(set...))
			ids[i] = r.ID
			wg.Go(func() {
				if err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Runs.Insert(ctx, r) }); err != nil {
					t.Errorf("insert: %v", err)
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if d := diff(set, e.objects(t, id)); d != "" {
				t.Errorf("%s:\n%s", id, d)
			}
		}
	}
	if err := e.Restrict(t.Context(), Restriction{Object: "inv_3"}); err != nil {
		t.Fatal(err)
	}
	if l := e.listAs(t, stranger, runs.Filter{}); l.Total != 4*writers {
		t.Errorf("%d runs are shown, want %d", l.Total, 4*writers)
	}
}

func objectsOutliveRuns(t *testing.T, e *env) {
	set := []string{"inv_1", "queue:default"}
	e.lived(t, naming(set...))
	if err := e.Restrict(t.Context(), Restriction{Object: "inv_1"}); err != nil {
		t.Fatal(err)
	}
	if n := e.purge(t, at(time.Hour), 10); n != 1 {
		t.Fatalf("purged %d", n)
	}
	r := e.add(t, naming(set...))
	if d := diff(set, e.objects(t, r.ID)); d != "" {
		t.Errorf("after the purge:\n%s", d)
	}
	if l := e.listAs(t, stranger, runs.Filter{}); len(l.Runs) != 0 || l.Total != 0 {
		t.Errorf("a stranger sees %v of %d", ids(l.Runs), l.Total)
	}
}

func objectsAreCopies(t *testing.T, e *env) {
	for _, set := range [][]string{{"queue:default"}, {"inv_1", "queue:default"}} {
		r := e.add(t, naming(set...))
		e.objects(t, r.ID)[0] = "changed"
		e.get(t, r.ID).Objects[0] = "changed"
		r.Objects[0] = "changed"
		again := e.add(t, naming("queue:default", "inv_1")) // another order: the list is not the one of before
		if d := diff([]string{"inv_1", "queue:default"}, e.objects(t, again.ID)); d != "" {
			t.Errorf("the set again:\n%s", d)
		}
		if got := e.objects(t, r.ID); got[0] == "changed" {
			t.Error("a reader changed what is stored")
		}
	}
}
