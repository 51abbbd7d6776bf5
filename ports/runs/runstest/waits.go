package runstest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Claims of these cases are made at epoch.

func waitCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a new run outside of its window":      waitNew,
		"an answer that no longer holds":       waitOld,
		"a window for a run that exists":       waitLater,
		"a window for a parent":                waitParent,
		"an override":                          waitOverride,
		"a run that was approved":              waitApproved,
		"a run that has ended or was released": waitOver,
		"runs to ask about":                    waitDue,
		"slots of a run that waits":            waitSlots,
		"claims while windows open and close":  waitRace,
	}
}

func closedUntil(d time.Duration) *runs.Wait {
	return &runs.Wait{WindowID: "win_1", Window: "freeze", Since: at(-time.Hour), Opens: at(d), Again: at(d), Version: 1}
}

func openUntil(d time.Duration) *runs.Wait { return &runs.Wait{Since: at(0), Again: at(d), Version: 1} }

func windowed(w *runs.Wait) func(*runs.Run) { return func(r *runs.Run) { r.Wait = w } }

func (e *env) putWait(t *testing.T, r *runs.Run, w *runs.Wait) (opened []string) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		opened, err = e.Waits.PutWait(ctx, r.ID, w)
		return err
	})
	return opened
}

func (e *env) wantWait(t *testing.T, r *runs.Run, want *runs.Wait) {
	t.Helper()
	got, err := e.Waits.WaitOf(t.Context(), r.ID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func waitNew(t *testing.T, e *env) {
	shut, open := e.add(t, windowed(closedUntil(time.Hour))), e.add(t, windowed(openUntil(time.Hour)))
	plain := e.add(t)
	e.wantWait(t, shut, closedUntil(time.Hour))
	e.wantWait(t, open, openUntil(time.Hour))
	e.wantWait(t, plain, nil)
	if !shut.Gated || !open.Gated || plain.Gated {
		t.Error("other runs are gated")
	}
	e.wantNext(t, open)
	e.wantWait(t, open, nil)
	e.wantNext(t, plain)
	e.wantNone(t)
	if opened := e.putWait(t, shut, openUntil(time.Hour)); !slices.Equal(opened, []string{runs.DefaultQueue}) {
		t.Errorf("opened %v", opened)
	}
	e.wantNext(t, shut)
}

// waitOld has a window close while nobody looks.
func waitOld(t *testing.T, e *env) {
	first, second, last := e.add(t, windowed(openUntil(0))), e.add(t, windowed(openUntil(-time.Hour))), e.add(t)
	ever := e.add(t, windowed(&runs.Wait{Since: at(0)}))
	e.wantNext(t, last)
	e.wantNext(t, ever)
	e.wantNone(t)
	for _, r := range []*runs.Run{first, second} {
		e.putWait(t, r, openUntil(time.Second))
	}
	e.wantNext(t, first)
	e.wantNext(t, second)
}

func waitLater(t *testing.T, e *env) {
	r := e.add(t)
	if opened := e.putWait(t, r, closedUntil(time.Hour)); len(opened) > 0 {
		t.Errorf("opened %v", opened)
	}
	e.wantNone(t)
	later := closedUntil(2 * time.Hour)
	later.WindowID, later.Window, later.Since = "win_2", "other", at(time.Minute)
	e.putWait(t, r, later)
	later.Since = at(-time.Hour) // since when the first one was closed
	e.wantWait(t, r, later)
	e.wantNone(t)
	if opened := e.putWait(t, r, nil); !slices.Equal(opened, []string{runs.DefaultQueue}) {
		t.Errorf("opened %v", opened)
	}
	e.wantWait(t, r, nil)
	e.wantNext(t, r)
	other := e.add(t)
	e.putWait(t, other, nil)
	e.wantNext(t, other)
	if err := e.do(t, func(ctx context.Context) error {
		_, err := e.Waits.PutWait(ctx, "run_none", openUntil(0))
		return err
	}); !runs.RunNotFound.Is(err) {
		t.Errorf("no run: %v", err)
	}
}

func waitParent(t *testing.T, e *env) {
	p := e.add(t, pipelineOf(), windowed(openUntil(time.Hour)))
	one, two := e.add(t, below(p, runs.Step, 1)), e.add(t, below(p, runs.Step, 2))
	e.putWait(t, p, closedUntil(time.Hour))
	e.wantWait(t, two, closedUntil(time.Hour))
	e.wantNone(t)
	three := e.add(t, below(p, runs.Step, 3))
	e.wantNone(t)
	e.putWait(t, p, openUntil(time.Hour))
	e.wantNext(t, one)
	// Its later steps are not bound.
	e.putWait(t, p, closedUntil(time.Hour))
	e.wantWait(t, p, nil)
	e.wantNext(t, two)
	e.wantNext(t, three)
}

func waitOverride(t *testing.T, e *env) {
	r := e.add(t, windowed(closedUntil(time.Hour)))
	over := closedUntil(time.Hour)
	over.Overridden = true
	if opened := e.putWait(t, r, over); !slices.Equal(opened, []string{runs.DefaultQueue}) {
		t.Errorf("opened %v", opened)
	}
	e.putWait(t, r, closedUntil(2*time.Hour))
	e.putWait(t, r, nil)
	e.wantWait(t, r, over)
	e.wantNext(t, r)
	e.wantWait(t, r, nil)
}

func waitApproved(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	e.must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, runs.Move{ID: r.ID, From: runs.PendingApproval, To: runs.Pending, At: epoch})
		if err != nil {
			return err
		}
		_, err = e.Waits.PutWait(ctx, r.ID, closedUntil(time.Hour))
		return err
	})
	e.wantNone(t)
	e.putWait(t, r, openUntil(time.Hour))
	e.wantNext(t, r)
}

func waitOver(t *testing.T, e *env) {
	canceled := e.add(t, windowed(closedUntil(time.Hour)))
	e.end(t, canceled, runs.Pending, runs.Canceled)
	e.putWait(t, canceled, closedUntil(time.Hour))
	e.wantWait(t, canceled, nil)
	released := e.add(t)
	a := e.wantNext(t, released)
	e.must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Pending, Lease: &a.Lease,
			DropLease: true, At: epoch})
		return err
	})
	e.putWait(t, released, closedUntil(time.Hour))
	e.wantWait(t, released, nil)
	e.wantNext(t, released)
}

func waitDue(t *testing.T, e *env) {
	old, due, fine := closedUntil(time.Hour), openUntil(time.Minute), openUntil(time.Hour)
	ever, over := &runs.Wait{Since: at(0), Version: 1}, closedUntil(0)
	over.Overridden = true
	old.Version = 0
	var made []*runs.Run
	for _, w := range []*runs.Wait{old, due, fine, ever, over} {
		made = append(made, e.add(t, windowed(w)))
	}
	ids := func(list []runs.Waiting, err error) []string {
		t.Helper()
		txtest.NoError(t, err)
		out := []string{}
		for _, w := range list {
			out = append(out, w.ID)
		}
		return out
	}
	find := func(version int64, d time.Duration, after int64, limit int) []string {
		t.Helper()
		return ids(e.Waits.DueWaits(t.Context(), version, at(d), after, limit))
	}
	txtest.Same(t, "due", []string{made[0].ID, made[1].ID}, find(1, time.Minute, 0, 9))
	txtest.Same(t, "before", []string{made[0].ID}, find(1, time.Minute-time.Microsecond, 0, 9))
	txtest.Same(t, "after a run", []string{made[1].ID}, find(1, time.Minute, made[0].Seq, 9))
	txtest.Same(t, "at most", []string{made[0].ID}, find(1, time.Minute, 0, 1))
	txtest.Same(t, "of another version", []string{made[1].ID, made[2].ID, made[3].ID}, find(0, 0, 0, 9))
	next, err := e.Waits.NextWait(t.Context())
	txtest.NoError(t, err)
	txtest.Same(t, "next", at(time.Minute), next)

	low, high := e.add(t, prioritised(-1)), e.add(t, prioritised(7))
	usual, p := e.add(t), e.add(t, pipelineOf())
	e.add(t, below(p, runs.Step, 1))
	e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	all := []string{low.ID, high.ID, usual.ID, p.ID}
	var got []string
	after := runs.Waiting{}
	for range all {
		list, err := e.Waits.Unasked(t.Context(), after, 1)
		got = append(got, ids(list, err)...)
		after = list[0]
	}
	txtest.Same(t, "unasked", all, got)
	txtest.Same(t, "no more", []string{}, ids(e.Waits.Unasked(t.Context(), after, 9)))
	for _, v := range []int64{3, 2, 0} {
		e.must(t, func(ctx context.Context) error { return e.Waits.SetAsked(ctx, v) })
	}
	v, err := e.Waits.Asked(t.Context())
	txtest.NoError(t, err)
	txtest.Same(t, "asked", int64(3), v)
}

// waitSlots checks that a run that waits for a window keeps nobody from slots, also if it waited for these before.
func waitSlots(t *testing.T, e *env) {
	holder := e.add(t, withLocks("a"))
	a := e.wantNext(t, holder)
	first, second := e.add(t, withLocks("a")), e.add(t, withLocks("a"))
	e.wantNone(t)
	e.putWait(t, first, closedUntil(time.Hour))
	e.done(t, a)
	b := e.wantNext(t, second)
	e.putWait(t, first, openUntil(time.Hour))
	e.wantNone(t)
	e.done(t, b)
	c := e.wantNext(t, first)
	// A run with a window is parked behind the one that waits first, and lets the last one pass.
	next, shut, last := e.add(t, withLocks("a")), e.add(t, withLocks("a")), e.add(t, withLocks("a"))
	e.putWait(t, shut, closedUntil(time.Hour))
	e.wantNone(t)
	e.done(t, c)
	e.done(t, e.wantNext(t, next))
	e.wantNext(t, last)
}

// waitRace has windows open and close while runs are claimed. Each is claimed once, and none is forgotten.
func waitRace(t *testing.T, e *env) {
	const each = 8
	var tops []*runs.Run
	for range each {
		p := e.add(t, pipelineOf(), windowed(closedUntil(time.Hour)))
		e.add(t, below(p, runs.Step, 1))
		tops = append(tops, p, e.add(t, windowed(openUntil(time.Hour))), e.add(t))
	}
	claimed := make([][]string, 3)
	txtest.Together(len(claimed)+2, func(i int) {
		if i >= len(claimed) {
			for n := range 2 * len(tops) {
				w := closedUntil(time.Hour)
				if (n/len(tops)+n+i)%2 == 0 {
					w = openUntil(time.Hour)
				}
				if err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
					_, err := e.Waits.PutWait(ctx, tops[(n*5+i)%len(tops)].ID, w)
					return err
				}); err != nil {
					t.Errorf("put: %v", err)
				}
			}
			return
		}
		for range 2 * each {
			a, _, err := search(t.Context(), e, nil)
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			if a != nil {
				claimed[i] = append(claimed[i], a.Run.ID)
			}
		}
	})
	for _, r := range tops {
		e.putWait(t, r, openUntil(time.Hour))
	}
	all := slices.Concat(claimed...)
	for a := e.next(t); a != nil; a = e.next(t) {
		all = append(all, a.Run.ID)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n != len(tops) {
		t.Errorf("%d runs were claimed %d times, want %d", n, len(all), len(tops))
	}
}
