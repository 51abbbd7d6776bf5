package runstest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	tplA = "tpl_0000000000000000000000000a"
	tplB = "tpl_0000000000000000000000000b"
	invA = "inv_0000000000000000000000000a"
	invB = "inv_0000000000000000000000000b"
)

// of makes a run of objects: a template, an inventory, or others.
func of(objects ...string) func(*runs.Run) {
	return func(r *runs.Run) {
		r.Objects = slices.Clone(objects)
		if !slices.ContainsFunc(objects, func(o string) bool { _, ok := access.QueueName(o); return ok }) {
			r.Objects = append(r.Objects, access.Queue(r.Spec.Queue))
		}
	}
}

func inQueue(queue string) func(*runs.Run) {
	return func(r *runs.Run) { r.Spec.Queue, r.Objects = queue, []string{access.Queue(queue)} }
}

func withLocks(names ...string) func(*runs.Run) {
	return func(r *runs.Run) { r.Spec.Locks = names }
}

func prioritised(n int) func(*runs.Run) { return func(r *runs.Run) { r.Spec.Priority = n } }

// limit stores a limit and returns the queues that it opened.
func (e *env) limit(t *testing.T, key runs.SlotKey, n int) (opened []string) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		opened, err = e.Slots.PutLimit(ctx, key, n)
		return err
	})
	return opened
}

// next claims like an executor, which searches again when it is told to. It returns nil if nothing can be claimed.
func (e *env) next(t *testing.T, queues ...string) *runs.Assignment {
	t.Helper()
	return e.nextWith(t, nil, queues...)
}

func (e *env) nextWith(t *testing.T, hosts map[string][]string, queues ...string) *runs.Assignment {
	t.Helper()
	a, _, err := search(t.Context(), e, hosts, queues...)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return a
}

// search claims until it is told that nothing more can be found. Hosts names those of runs by their ids; a run that is
// missing there has unknown ones.
func search(
	ctx context.Context, e *env, hosts map[string][]string, queues ...string,
) (a *runs.Assignment, opened []string, err error) {
	if len(queues) == 0 {
		queues = []string{runs.DefaultQueue}
	}
	q := runs.ClaimRequest{Worker: "w", Queues: queues, Hosts: map[string][]string{}}
	for range 10_000 {
		var got runs.ClaimResult
		err = e.Unit.Do(ctx, func(ctx context.Context) (err error) {
			got, err = e.Queue.Claim(ctx, q, ttl, epoch)
			return err
		})
		opened = append(opened, got.Opened...)
		switch {
		case err != nil || got.Assignment != nil || !got.Again:
			return got.Assignment, opened, err
		case got.Contended:
			ctx = tx.Alone(ctx)
		case got.HostsOf != nil:
			q.Hosts = maps.Clone(q.Hosts)
			q.Hosts[got.HostsOf.ID] = hosts[got.HostsOf.ID]
		}
	}
	return nil, opened, nil
}

func (e *env) wantNext(t *testing.T, want *runs.Run, queues ...string) *runs.Assignment {
	t.Helper()
	a := e.next(t, queues...)
	if a == nil || a.Run.ID != want.ID {
		t.Fatalf("claimed %+v, want %s", a, want.ID)
	}
	return a
}

func (e *env) wantNone(t *testing.T, queues ...string) {
	t.Helper()
	if a := e.next(t, queues...); a != nil {
		t.Fatalf("claimed %s", a.Run.ID)
	}
}

// end moves a run and releases its slots. It returns the queues that this opened.
func (e *env) end(t *testing.T, r *runs.Run, from, to runs.Status) (opened []string) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		moved, err := e.Runs.Move(ctx, runs.Move{ID: r.ID, From: from, To: to, At: epoch})
		if err != nil || !moved.Slotted || !to.Terminal() {
			return err
		}
		var left []runs.SlotKey
		opened, left, err = e.Slots.Release(ctx, []int64{moved.Seq})
		if len(left) > 0 {
			t.Errorf("nobody else was there, and %v are left", left)
		}
		return err
	})
	return opened
}

func (e *env) done(t *testing.T, a *runs.Assignment) []string {
	t.Helper()
	return e.end(t, a.Run, runs.Running, runs.Succeeded)
}
