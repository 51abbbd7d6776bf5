package runstest

import (
	"context"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

func slotChanged(t *testing.T, e *env) {
	key := runs.SlotKey("template:" + tplA)
	e.limit(t, key, 1)
	var list []*runs.Run
	for range 6 {
		list = append(list, e.add(t, of(tplA)))
	}
	a := e.wantNext(t, list[0])
	e.wantNone(t)
	if opened := e.limit(t, key, 3); !slices.Contains(opened, "default") {
		t.Errorf("opened %v", opened)
	}
	b, c := e.wantNext(t, list[1]), e.wantNext(t, list[2])
	e.wantNone(t)
	if opened := e.limit(t, key, 1); len(opened) != 0 {
		t.Errorf("opened %v", opened)
	}
	e.done(t, a)
	e.done(t, b)
	e.wantNone(t)
	e.done(t, c)
	e.wantNext(t, list[3])
	e.wantNone(t)
	if opened := e.limit(t, key, 0); !slices.Contains(opened, "default") {
		t.Errorf("opened %v", opened)
	}
	e.wantNext(t, list[4])
	e.wantNext(t, list[5])
	if list := e.launches(t, key); len(list) != 0 {
		t.Errorf("launches %v", list)
	}
}

func slotBackfill(t *testing.T, e *env) {
	for object, key := range map[string]runs.SlotKey{tplA: runs.SlotKey("template:" + tplA),
		invA: runs.SlotKey("inventory:" + invA), access.Queue("default"): "queue:default", access.Queue("x"): "queue:x"} {
		queue := "default"
		if name, ok := access.QueueName(object); ok {
			queue = name
		}
		make := func(edit ...func(*runs.Run)) *runs.Run {
			return e.add(t, append([]func(*runs.Run){func(r *runs.Run) { r.Spec.Queue = queue }, of(object)}, edit...)...)
		}
		running := e.wantNext(t, make(), queue)
		released := e.wantNext(t, make(withLocks("mine")), queue)
		pending := make()
		held := make(func(r *runs.Run) { r.Status = runs.PendingApproval })
		e.must(t, func(ctx context.Context) error {
			_, err := e.Runs.Move(ctx, runs.Move{ID: released.Run.ID, From: runs.Running, To: runs.Pending,
				Lease: &released.Lease, DropLease: true, At: epoch})
			return err
		})
		e.limit(t, key, 1)
		if list := e.launches(t, key); !slices.Equal(list, []string{running.Run.ID, released.Run.ID, pending.ID}) {
			t.Errorf("%s: launches %v", key, list)
		}
		again := e.wantNext(t, released.Run, queue) // it has slots, and so has this one
		e.wantNone(t, queue)
		e.done(t, running)
		e.wantNone(t, queue)
		e.done(t, again)
		last := e.wantNext(t, pending, queue)
		e.end(t, held, runs.PendingApproval, runs.Pending)
		e.wantNone(t, queue)
		e.done(t, last)
		e.done(t, e.wantNext(t, held, queue))
		e.limit(t, key, 0)
	}
}

func slotBackfillParents(t *testing.T, e *env) {
	p, q := e.add(t, pipelineOf(of(tplA))), e.add(t, pipelineOf(of(tplA)))
	one, two := e.add(t, below(p, runs.Step, 1)), e.add(t, below(q, runs.Step, 1))
	split := e.add(t, of(tplA), func(r *runs.Run) { r.Kind = runs.Split })
	a := e.wantNext(t, one)
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, e.add(t, below(e.get(t, p.ID), runs.Step, 2)))
	e.wantNone(t)
	e.end(t, p, runs.Running, runs.Succeeded)
	e.wantNext(t, two)
	e.wantNone(t)
	e.end(t, q, runs.Running, runs.Succeeded)
	e.wantNext(t, split)
}

func slotMany(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	first := e.add(t, of(tplA))
	second := e.add(t, of(tplA))
	for range 60 {
		e.add(t, of(tplA))
	}
	other := e.add(t, of(tplB), prioritised(-3))
	a := e.wantNext(t, first)
	e.wantNext(t, other)
	e.wantNone(t)
	e.done(t, a)
	e.wantNext(t, second)
	e.wantNone(t)
}

// slotSearch releases slots in a way that wakes nobody, as when another unit holds the rows, and then searches.
func slotSearch(t *testing.T, e *env) {
	e.limit(t, runs.SlotKey("template:"+tplA), 1)
	a := e.wantNext(t, e.add(t, of(tplA), withLocks("x")))
	waits := e.add(t, of(tplA), withLocks("x"))
	e.wantNone(t)
	if key, err := e.Slots.Waiting(t.Context(), ""); err != nil || key != "lock:x" {
		t.Fatalf("waiting %q, %v", key, err)
	}
	if key, err := e.Slots.Waiting(t.Context(), "lock:x"); err != nil || key != runs.SlotKey("template:"+tplA) {
		t.Fatalf("waiting %q, %v", key, err)
	}
	if opened := e.wake(t, "lock:x"); len(opened) != 0 {
		t.Errorf("opened %v while the lock is held", opened)
	}
	e.done(t, a)
	if opened := e.wake(t, "lock:x"); len(opened) != 0 { // the release has woken it
		t.Errorf("opened %v again", opened)
	}
	e.wantNext(t, waits)
	if key, err := e.Slots.Waiting(t.Context(), ""); err != nil || key != "" {
		t.Errorf("waiting %q, %v", key, err)
	}
	e.must(t, func(ctx context.Context) error {
		opened, err := e.Slots.WakeChildren(ctx, 10)
		if len(opened) != 0 {
			t.Errorf("opened %v", opened)
		}
		return err
	})
}

func (e *env) wake(t *testing.T, key runs.SlotKey) (opened []string) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		opened, err = e.Slots.Wake(ctx, key)
		return err
	})
	return opened
}

func (e *env) busy(t *testing.T, r *runs.Run) map[runs.SlotKey]runs.BusyKey {
	t.Helper()
	list, err := e.Slots.Busy(t.Context(), r.Seq)
	if err != nil {
		t.Fatal(err)
	}
	out := map[runs.SlotKey]runs.BusyKey{}
	for _, k := range list {
		out[k.Key] = k
	}
	return out
}

func slotBusy(t *testing.T, e *env) {
	template := runs.SlotKey("template:" + tplA)
	e.limit(t, template, 2)
	a, b := e.wantNext(t, e.add(t, of(tplA), withLocks("x"))), e.wantNext(t, e.add(t, of(tplA)))
	second, third := e.add(t, of(tplA), withLocks("x")), e.add(t, of(tplA))
	// A run that was not tried is explained too.
	want := map[runs.SlotKey]runs.BusyKey{
		template: {Key: template, Limit: 2, Holders: []string{a.Run.ID, b.Run.ID}},
		"lock:x": {Key: "lock:x", Limit: 1, Holders: []string{a.Run.ID}},
	}
	if d := diff(want, e.busy(t, second)); d != "" {
		t.Errorf("before a claim:\n%s", d)
	}
	e.wantNone(t)
	if d := diff(want, e.busy(t, second)); d != "" {
		t.Errorf("after a claim:\n%s", d)
	}
	e.done(t, b)
	want = map[runs.SlotKey]runs.BusyKey{template: {Key: template, Limit: 2, Holders: []string{a.Run.ID}, Ahead: 1,
		First: second.ID}}
	if d := diff(want, e.busy(t, third)); d != "" {
		t.Errorf("behind one that waits:\n%s", d)
	}
	e.done(t, a)
	if got := e.busy(t, third); len(got) != 0 {
		t.Errorf("nothing is busy: %v", got)
	}
}

func (e *env) launches(t *testing.T, key runs.SlotKey) (list []string) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		list, err = e.Slots.Launches(ctx, key)
		return err
	})
	return list
}

func slotLaunches(t *testing.T, e *env) {
	key := runs.SlotKey("template:" + tplA)
	e.limit(t, key, 1)
	first, second := e.add(t, of(tplA)), e.add(t, of(tplA))
	e.add(t, of(tplB), inQueue("x"))
	a := e.wantNext(t, first)
	e.wantNone(t)
	third := e.add(t, pipelineOf(of(tplA)))
	e.add(t, below(third, runs.Step, 1))
	if list := e.launches(t, key); !slices.Equal(list, []string{first.ID, second.ID, third.ID}) {
		t.Errorf("launches %v", list)
	}
	e.done(t, a)
	if list := e.launches(t, key); !slices.Equal(list, []string{second.ID, third.ID}) {
		t.Errorf("launches %v", list)
	}
}
