package runstest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func slotCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"limits of keys":                          slotLimits,
		"a limit is kept, in order":               slotOrder,
		"a key with several slots":                slotSeveral,
		"all keys at once":                        slotTogether,
		"a run that waits keeps its place":        slotPlace,
		"other queues":                            slotQueues,
		"locks":                                   slotLocks,
		"a pipeline counts once":                  slotPipeline,
		"a divided split counts once":             slotShards,
		"a run that is divided later":             slotDivided,
		"held runs do not count":                  slotHeld,
		"each end lets the next one in":           slotEnds,
		"a run that waits may end":                slotWaiterEnds,
		"a released run keeps its slots":          slotReleased,
		"raised, lowered and deleted":             slotChanged,
		"a limit for runs that exist":             slotBackfill,
		"a limit for parents that exist":          slotBackfillParents,
		"many runs of one key do not hide others": slotMany,
		"a search for free slots":                 slotSearch,
		"the first limit of an object":            slotFirst,
		"who is before a run":                     slotBusy,
		"launches of a key":                       slotLaunches,
	}
}

func slotLimits(t *testing.T, e *env) {
	template, inventory, queue := runs.SlotKey("template:"+tplA), runs.SlotKey("inventory:"+invA), runs.SlotKey("queue:q")
	e.limit(t, template, 3)
	e.limit(t, inventory, runs.MaxConcurrent)
	e.limit(t, queue, 1)
	e.limit(t, queue, 0)
	e.limit(t, template, 2)
	got, err := e.Slots.Limits(t.Context(), template, inventory, queue, "lock:x")
	if err != nil || !maps.Equal(got, map[runs.SlotKey]int{template: 2, inventory: runs.MaxConcurrent}) {
		t.Errorf("limits %v, %v", got, err)
	}
	for key, n := range map[runs.SlotKey]int{"lock:x": 1, "host:x": 1, "queue:": 1, "template:x": 1, template: -1,
		inventory: runs.MaxConcurrent + 1} {
		err := e.do(t, func(ctx context.Context) error {
			_, err := e.Slots.PutLimit(ctx, key, n)
			return err
		})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("a limit of %d for %s: %v", n, key, err)
		}
		err = e.do(t, func(ctx context.Context) error { return e.Slots.AddLimit(ctx, key, n) })
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("a new limit of %d for %s: %v", n, key, err)
		}
	}
}

// slotFirst: the limit of a new object binds its first runs, and no submission waits for the unit that creates it.
func slotFirst(t *testing.T, e *env) {
	key := runs.SlotKey("template:" + tplA)
	e.must(t, func(ctx context.Context) error {
		for k, n := range map[runs.SlotKey]int{key: 1, "inventory:" + invA: 0} {
			if err := e.Slots.AddLimit(ctx, k, n); err != nil {
				return err
			}
		}
		return nil
	})
	got, err := e.Slots.Limits(t.Context(), key, "inventory:"+invA)
	if err != nil || !maps.Equal(got, map[runs.SlotKey]int{key: 1}) {
		t.Errorf("limits %v, %v", got, err)
	}
	first, second := e.add(t, of(tplA)), e.add(t, of(tplA))
	a := e.wantNext(t, first)
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, second)
}

func slotOrder(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	first, second := e.add(t, of(tplA)), e.add(t, of(tplA))
	if !first.Gated || !first.Slotted {
		t.Errorf("the run is not gated")
	}
	other := e.add(t, of(tplB))
	a := e.wantNext(t, first)
	if a.Run.Gated || !a.Run.Slotted {
		t.Errorf("claimed with gated %t, slotted %t", a.Run.Gated, a.Run.Slotted)
	}
	e.wantNext(t, other)
	e.wantNone(t)
	third, urgent := e.add(t, of(tplA)), e.add(t, of(tplA), prioritised(5))
	e.wantNone(t)
	if opened := e.done(t, a); !slices.Equal(opened, []string{"default"}) {
		t.Errorf("opened %v", opened)
	}
	for _, want := range []*runs.Run{urgent, second, third} {
		a = e.wantNext(t, want)
		e.wantNone(t)
		e.done(t, a)
	}
	e.wantNone(t)
}

func slotSeveral(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("inventory:"+invA), 2)
	var list []*runs.Run
	for range 4 {
		list = append(list, e.add(t, of(invA)))
	}
	a, b := e.wantNext(t, list[0]), e.wantNext(t, list[1])
	e.wantNone(t)
	e.done(t, b)
	c := e.wantNext(t, list[2])
	e.wantNone(t)
	e.done(t, a)
	e.done(t, c)
	e.wantNext(t, list[3])
}

func slotTogether(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	e.limit(t, runs.SlotKey("inventory:"+invA), 1)
	e.limit(t, "queue:default", 3)
	onlyTemplate, onlyInventory := e.add(t, of(tplA)), e.add(t, of(invA))
	both := e.add(t, of(tplA, invA), withLocks("deploy"))
	a, b := e.wantNext(t, onlyTemplate), e.wantNext(t, onlyInventory)
	e.wantNone(t)
	if opened := e.done(t, a); len(opened) != 0 {
		t.Errorf("opened %v while the inventory is busy", opened)
	}
	e.wantNone(t)
	e.done(t, b)
	e.wantNext(t, both)
}

// slotPlace has a run that waits for a lock, and others that come later and need only what is free.
func slotPlace(t *testing.T, e *env) {
	holder := e.wantNext(t, e.add(t, withLocks("a")))
	waits := e.add(t, withLocks("a", "b"))
	e.wantNone(t)
	later := e.add(t, withLocks("b"))
	e.wantNone(t)
	free := e.wantNext(t, e.add(t, withLocks("c")))
	e.done(t, free)
	e.done(t, holder)
	a := e.wantNext(t, waits)
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, later)
}

// slotQueues has an older run in a queue that nobody serves. It has not tried, so that it does not hold up the others.
func slotQueues(t *testing.T, e *env) {
	in := func(queue string) func(*runs.Run) {
		return func(r *runs.Run) { r.Spec.Queue = queue; of(tplA, access.Queue(queue))(r) }
	}
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	e.limit(t, "queue:a", 1)
	old := e.add(t, in("a"))
	first, second := e.add(t, in("b")), e.add(t, in("b"))
	a := e.wantNext(t, first, "b")
	e.wantNone(t, "a", "b")
	if opened := e.done(t, a); !slices.Equal(opened, []string{"a"}) {
		t.Errorf("opened %v", opened)
	}
	e.wantNone(t, "b")
	a = e.wantNext(t, old, "a", "b")
	if opened := e.done(t, a); !slices.Equal(opened, []string{"b"}) {
		t.Errorf("opened %v", opened)
	}
	e.wantNext(t, second, "a", "b")
}

func slotLocks(t *testing.T, e *env) {
	a := e.wantNext(t, e.add(t, withLocks("x", "y")))
	y, x := e.add(t, withLocks("y")), e.add(t, withLocks("x"))
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, y)
	e.wantNext(t, x)
}

func pipelineOf(edit ...func(*runs.Run)) func(*runs.Run) {
	return func(r *runs.Run) {
		r.Kind, r.Graph = runs.Pipeline, &runs.Graph{}
		for _, fn := range edit {
			fn(r)
		}
	}
}

// below is childOf with the gate of the parent, as the module makes children.
func below(p *runs.Run, kind runs.Kind, n int) func(*runs.Run) {
	return func(r *runs.Run) {
		childOf(p, kind, n)(r)
		r.Gated, r.Objects = p.Gated, p.Objects
	}
}

func slotPipeline(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	p := e.add(t, pipelineOf(of(tplA)))
	one, two := e.add(t, below(p, runs.Step, 1)), e.add(t, below(p, runs.Step, 2))
	q := e.add(t, pipelineOf(of(tplA)))
	other, held := e.add(t, below(q, runs.Step, 1)), e.add(t, below(q, runs.Step, 2), func(r *runs.Run) {
		r.Status = runs.PendingApproval
	})
	a := e.wantNext(t, one)
	b := e.wantNext(t, two)
	e.wantNone(t)
	e.done(t, a)
	e.done(t, b)
	e.wantNone(t)
	// A later step of the first pipeline needs nothing more.
	third := e.add(t, below(e.get(t, p.ID), runs.Step, 3))
	c := e.wantNext(t, third)
	e.end(t, held, runs.PendingApproval, runs.Pending)
	e.wantNone(t)
	e.done(t, c)
	if opened := e.end(t, p, runs.Running, runs.Succeeded); !slices.Contains(opened, "default") {
		t.Errorf("opened %v", opened)
	}
	e.wantNext(t, other)
	e.wantNext(t, held)
}

func slotShards(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	holder := e.wantNext(t, e.add(t, of(tplA)))
	p := e.add(t, asSplit, of(tplA))
	s0, s1 := e.add(t, below(p, runs.Shard, 0)), e.add(t, below(p, runs.Shard, 1))
	e.wantNone(t)
	e.done(t, holder)
	e.wantNext(t, s0)
	e.wantNext(t, s1)
	if got := e.get(t, p.ID); got.Gated || got.Status != runs.Running {
		t.Errorf("the parent is %s, gated %t", got.Status, got.Gated)
	}
}

func slotDivided(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	p := e.add(t, of(tplA), func(r *runs.Run) { r.Kind = runs.Split })
	next := e.add(t, of(tplA))
	a := e.wantNext(t, p)
	e.wantNone(t)
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, p.ID, runs.Amendment{ShardCount: ptr(1), DropLease: true, Lease: &a.Lease})
	})
	s := e.wantNext(t, e.add(t, below(e.get(t, p.ID), runs.Shard, 0)))
	e.wantNone(t)
	e.done(t, s)
	e.wantNone(t)
	e.end(t, p, runs.Running, runs.Succeeded)
	e.wantNext(t, next)
}

func slotHeld(t *testing.T, e *env) {
	key := runs.SlotKey("template:" + tplA)
	e.limit(t, key, 1)
	held := e.add(t, of(tplA), withLocks("x"), func(r *runs.Run) { r.Status = runs.PendingApproval })
	if held.Gated || held.Slotted {
		t.Error("a held run has keys")
	}
	if list := e.launches(t, key); len(list) != 0 {
		t.Errorf("launches %v", list)
	}
	a := e.wantNext(t, e.add(t, of(tplA)))
	e.end(t, held, runs.PendingApproval, runs.Pending)
	if got := e.get(t, held.ID); !got.Gated || !got.Slotted {
		t.Error("an approved run has no keys")
	}
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, held)
}

func slotEnds(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	for _, to := range []runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted} {
		a := e.wantNext(t, e.add(t, of(tplA)))
		next := e.add(t, of(tplA))
		e.wantNone(t)
		if opened := e.end(t, a.Run, runs.Running, to); !slices.Equal(opened, []string{"default"}) {
			t.Errorf("%s opened %v", to, opened)
		}
		e.done(t, e.wantNext(t, next))
	}
}

// slotWaiterEnds ends a run that waits first for two locks, one of which is free.
func slotWaiterEnds(t *testing.T, e *env) {
	e.wantNext(t, e.add(t, withLocks("a")))
	waits, later := e.add(t, withLocks("a", "b")), e.add(t, withLocks("b"))
	e.wantNone(t)
	if opened := e.end(t, waits, runs.Pending, runs.Canceled); !slices.Equal(opened, []string{"default"}) {
		t.Errorf("opened %v", opened)
	}
	e.wantNext(t, later)
}

func slotReleased(t *testing.T, e *env) {
	first := e.add(t, withLocks("a"))
	a := e.wantNext(t, first)
	second := e.add(t, withLocks("a"), prioritised(9))
	e.wantNone(t)
	e.must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Pending, Lease: &a.Lease,
			DropLease: true, At: epoch})
		return err
	})
	a = e.wantNext(t, first)
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, second)
}
