package runstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func setQueueCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a run moves with its counters, objects and warnings": setQueuePlain,
		"runs that do not move":                               setQueueRefused,
		"a move and claims":                                   setQueueRace,
		"the slots of queues follow":                          setQueueSlots,
		"a run that a window keeps":                           setQueueWindow,
	}
}

func (e *env) setQueue(t *testing.T, r *runs.Run, queue string, w ...runs.Warning) (opened []string, err error) {
	t.Helper()
	err = e.do(t, func(ctx context.Context) (err error) {
		opened, err = e.Queue.SetQueue(ctx, r.ID, queue, w)
		return err
	})
	return opened, err
}

func (e *env) mustSetQueue(t *testing.T, r *runs.Run, queue string) []string {
	t.Helper()
	opened, err := e.setQueue(t, r, queue)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func setQueuePlain(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) {
		r.Objects = append(r.Objects, tplA)
		r.Warnings = []runs.Warning{{Code: runs.WarnQueueUnserved, Message: "old"}}
	})
	w := runs.Warning{Code: runs.WarnQueueUnserved, Message: "new"}
	if _, err := e.setQueue(t, r, "dmz", w); err != nil {
		t.Fatal(err)
	}
	want := e.get(t, r.ID)
	if want.Spec.Queue != "dmz" || want.Revision != r.Revision+1 && want.Revision != 2 || want.Status != runs.Pending {
		t.Errorf("%+v", want)
	}
	if d := diff([]runs.Warning{w}, want.Warnings); d != "" {
		t.Error(d)
	}
	if d := diff([]string{access.Queue("dmz"), tplA}, e.objects(t, r.ID)); d != "" {
		t.Error(d)
	}
	if d := diff(map[string][2]int64{"pending/dmz": {1, 1}}, e.counts(t)); d != "" {
		t.Error(d)
	}
	e.wantNone(t)
	for _, f := range []runs.Filter{{Queue: "dmz"}, {Statuses: []runs.Status{runs.Pending}}} {
		if list := e.list(t, f); len(list.Runs) != 1 || list.Total != 1 {
			t.Errorf("%+v: %+v", f, list)
		}
	}
	e.mustSetQueue(t, r, "default")
	if d := diff(map[string][2]int64{"pending/default": {1, 1}}, e.counts(t)); d != "" {
		t.Error(d)
	}
	if now := e.get(t, r.ID); len(now.Warnings) != 0 {
		t.Errorf("warnings %v", now.Warnings)
	}
	e.wantNext(t, r)
}

func setQueueRefused(t *testing.T, e *env) {
	running := e.running(t).Run
	held := e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	p := e.add(t, pipelineOf())
	step := e.add(t, below(p, runs.Step, 1))
	divided := e.add(t, func(r *runs.Run) { r.Kind, r.ShardCount = runs.Split, 2 })
	before := e.counts(t)
	for r, code := range map[*runs.Run]string{running: runs.RunStateChanged.Name, held: runs.RunStateChanged.Name,
		p: runs.RunNotMovable.Name, step: runs.RunNotMovable.Name, divided: runs.RunNotMovable.Name,
		{ID: "run_nobody"}: runs.RunNotFound.Name} {
		_, err := e.setQueue(t, r, "dmz")
		if !(runs.RunStateChanged.Is(err) && code == runs.RunStateChanged.Name ||
			runs.RunNotMovable.Is(err) && code == runs.RunNotMovable.Name ||
			runs.RunNotFound.Is(err) && code == runs.RunNotFound.Name) {
			t.Errorf("%s %s: %v, want %s", r.Kind, r.Status, err, code)
		}
	}
	if d := diff(before, e.counts(t)); d != "" {
		t.Error(d)
	}
}

// setQueueRace: of a move and a claim exactly one wins, whichever it is.
func setQueueRace(t *testing.T, e *env) {
	for range 20 {
		r := e.add(t)
		var claimed *runs.Assignment
		var moved error
		txtest.Together(2, func(i int) {
			if i == 0 {
				moved = e.Unit.Do(t.Context(), func(ctx context.Context) error {
					_, err := e.Queue.SetQueue(ctx, r.ID, "dmz", nil)
					return err
				})
				return
			}
			var err error
			if claimed, _, err = search(t.Context(), e, nil); err != nil {
				t.Errorf("claim: %v", err)
			}
		})
		now := e.get(t, r.ID)
		switch {
		case claimed != nil && runs.RunStateChanged.Is(moved) && now.Spec.Queue == "default" && now.Status == runs.Running:
		case claimed == nil && moved == nil && now.Spec.Queue == "dmz" && now.Status == runs.Pending:
			e.wantNext(t, r, "dmz")
		case claimed == nil && runs.RunStateChanged.Is(moved): // neither saw a free row, and both may try again
			t.Errorf("nobody won: %v", moved)
		default:
			t.Fatalf("claimed %v, moved %v, the run is %s in %s", claimed, moved, now.Status, now.Spec.Queue)
		}
	}
}

func setQueueSlots(t *testing.T, e *env) {
	e.limit(t, "queue:a", 1)
	e.limit(t, "queue:b", 1)
	in := func(queue string) func(*runs.Run) {
		return func(r *runs.Run) {
			r.Spec.Queue, r.Objects = queue, []string{access.Queue(queue)}
		}
	}
	first, second, third := e.add(t, in("a")), e.add(t, in("a")), e.add(t, in("a"))
	a := e.wantNext(t, first, "a")
	e.wantNone(t, "a") // both are parked
	e.mustSetQueue(t, second, "b")
	b := e.wantNext(t, second, "b")
	e.mustSetQueue(t, third, "b")
	e.wantNone(t, "b")
	e.wantNone(t, "a")
	e.done(t, b)
	c := e.wantNext(t, third, "b")
	last := e.add(t, in("b"))
	e.wantNone(t, "b")
	e.mustSetQueue(t, last, "free")
	e.wantNext(t, last, "free")
	e.done(t, c)
	e.done(t, a)
	// A released run keeps its slots; the one of its old queue is given back.
	held, waits := e.add(t, in("a")), e.add(t, in("a"))
	h := e.wantNext(t, held, "a")
	e.wantNone(t, "a")
	e.must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, runs.Move{ID: held.ID, From: runs.Running, To: runs.Pending, Lease: &h.Lease,
			DropLease: true, At: epoch})
		return err
	})
	e.mustSetQueue(t, held, "free")
	e.wantNext(t, waits, "a")
	e.wantNext(t, held, "free")
}

func setQueueWindow(t *testing.T, e *env) {
	r := e.add(t, windowed(closedUntil(time.Hour)))
	e.wantNone(t)
	e.mustSetQueue(t, r, "dmz")
	e.wantNone(t, "dmz")
	e.putWait(t, r, nil)
	e.wantNext(t, r, "dmz")
}
