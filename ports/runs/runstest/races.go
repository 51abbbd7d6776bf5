package runstest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func raceCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"each run is claimed once":          raceClaims,
		"of two moves one wins":             raceMoves,
		"a parent starts once":              raceParent,
		"inserts of one child":              raceInserts,
		"the last of two endings sees both": raceRollUp,
	}
}

const claimers = 64

func raceClaims(t *testing.T, e *env) {
	const n = 150
	for range n {
		e.add(t)
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	txtest.Together(claimers, func(i int) {
		for {
			var a *runs.Assignment
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				got, err := e.Queue.Claim(ctx, runs.ClaimRequest{Worker: fmt.Sprint("w", i), Queues: []string{"default"}}, ttl,
					epoch)
				a = got.Assignment
				return err
			})
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			if a == nil {
				return
			}
			mu.Lock()
			claimed[a.Run.ID]++
			mu.Unlock()
		}
	})
	if len(claimed) != n {
		t.Errorf("%d of %d runs were claimed", len(claimed), n)
	}
	for id, times := range claimed {
		if times != 1 {
			t.Errorf("%s was claimed %d times", id, times)
		}
	}
	if d := diff(map[string][2]int64{"running/default": {n, n}}, e.counts(t)); d != "" {
		t.Errorf("counters:\n%s", d)
	}
}

func raceMoves(t *testing.T, e *env) {
	for range 10 {
		a := e.running(t)
		var mu sync.Mutex
		won := 0
		txtest.Together(4, func(i int) {
			to := []runs.Status{runs.Succeeded, runs.Canceled, runs.Interrupted, runs.Failed}[i]
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				_, err := e.Runs.Move(ctx, runs.Move{ID: a.Run.ID, From: runs.Running, To: to, At: epoch})
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !runs.RunStateChanged.Is(err) {
				t.Errorf("the loser gets %v", err)
			}
		})
		if won != 1 {
			t.Errorf("%d moves won", won)
		}
		if got := e.get(t, a.Run.ID); got.EventCount != 2 {
			t.Errorf("%d events", got.EventCount)
		}
	}
}

func raceParent(t *testing.T, e *env) {
	const n = 16
	p := e.add(t, asSplit)
	for i := range n {
		e.add(t, childOf(p, runs.Shard, i))
	}
	txtest.Together(n, func(i int) {
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			a, err := e.Queue.Claim(ctx, runs.ClaimRequest{Worker: fmt.Sprint(i), Queues: []string{"default"}}, ttl,
				at(time.Hour))
			if err == nil && a.Assignment == nil {
				t.Error("a claimer went away with nothing")
			}
			return err
		})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
	})
	got := e.get(t, p.ID)
	if got.Status != runs.Running || got.EventCount != 1 {
		t.Errorf("the parent is %s with %d events", got.Status, got.EventCount)
	}
	if d := diff(map[string][2]int64{"running/default": {n + 1, 1}}, e.counts(t)); d != "" {
		t.Errorf("counters:\n%s", d)
	}
}

func raceInserts(t *testing.T, e *env) {
	p := e.add(t, asSplit)
	var mu sync.Mutex
	won := 0
	txtest.Together(8, func(int) {
		r := e.bare(childOf(p, runs.Shard, 0))
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Runs.Insert(ctx, r) })
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			won++
		} else if !runs.RunStateChanged.Is(err) {
			t.Errorf("the loser gets %v", err)
		}
	})
	if won != 1 {
		t.Errorf("%d inserts won", won)
	}
}

// raceRollUp ends all children at once, each in a unit that locks the parent and then reads its siblings.
func raceRollUp(t *testing.T, e *env) {
	const n = 8
	p := e.add(t, asSplit)
	var claimed []*runs.Assignment
	for i := range n {
		e.add(t, childOf(p, runs.Shard, i))
		claimed = append(claimed, e.claim(t, "w", ttl))
	}
	txtest.Together(n, func(i int) {
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			if _, err := e.Runs.Move(ctx, runs.Move{ID: claimed[i].Run.ID, From: runs.Running, To: runs.Succeeded,
				At: epoch}); err != nil {
				return err
			}
			if _, err := e.Runs.Lock(ctx, p.ID); err != nil {
				return err
			}
			children, err := e.Runs.Children(ctx, p.ID)
			if err != nil {
				return err
			}
			for _, c := range children {
				if !c.Status.Terminal() {
					return nil
				}
			}
			_, err = e.Runs.Move(ctx, runs.Move{ID: p.ID, From: runs.Running, To: runs.Succeeded, At: epoch})
			return err
		})
		if err != nil {
			t.Errorf("end a child: %v", err)
		}
	})
	if got := e.get(t, p.ID); got.Status != runs.Succeeded {
		t.Errorf("the parent is %s", got.Status)
	}
}
