package notifytest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func raceCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"each is taken by one server":      raceTake,
		"planned by many servers":          raceInsert,
		"the run goes meanwhile":           raceForget,
		"one target, kept many times":      raceSave,
		"several targets, by digest":       raceSaveSeveral,
		"an end and another time, at once": raceEnd,
	}
}

// raceTake lets servers take until nothing is due. Most deliveries share a few lanes.
func raceTake(t *testing.T, e *env) {
	const deliveries, servers = 60, 6
	for i := range deliveries {
		e.add(t, toward(fmt.Sprint("lane ", i%12)))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	txtest.Together(servers, func(i int) {
		for {
			list, wait, err := e.Deliveries.TakeDeliveries(t.Context(), 1+i, visibility, nil)
			if err != nil {
				t.Errorf("take: %v", err)
				return
			}
			mu.Lock()
			for _, d := range list {
				seen[d.ID]++
				if d.Attempts != 1 {
					t.Errorf("%s has %d tries", d.ID, d.Attempts)
				}
			}
			mu.Unlock()
			if len(list) == 0 && wait > time.Minute {
				return
			}
		}
	})
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
	same(t, "taken", deliveries, len(seen))
}

func raceInsert(t *testing.T, e *env) {
	for range 4 {
		run := e.run(t)
		var fresh atomic.Int64
		txtest.Together(8, func(int) {
			list := []notify.Delivery{e.delivery(run, 0), e.delivery(run, 1), e.delivery(run, 0, toward("d"))}
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				n, err := e.Deliveries.InsertDeliveries(ctx, list)
				if err == nil {
					fresh.Add(int64(n))
				}
				return err
			})
			if err != nil {
				t.Errorf("insert: %v", err)
			}
		})
		if fresh.Load() != 3 || len(e.list(t, run)) != 3 {
			t.Errorf("%d were new, %d are there", fresh.Load(), len(e.list(t, run)))
		}
	}
}

// raceForget deletes runs while servers plan, claim and end their deliveries.
func raceForget(t *testing.T, e *env) {
	for range 5 {
		run := e.run(t)
		d := e.delivery(run, 0)
		e.insert(t, 1, d)
		txtest.Together(6, func(i int) {
			var err error
			switch i {
			case 0:
				err = e.Forget(t.Context())
			case 1:
				_, _, err = e.Deliveries.TakeDeliveries(t.Context(), 9, gone, nil)
			case 2:
				err = e.Deliveries.EndDelivery(t.Context(), d.ID, notify.Failed, "why")
			default:
				err = e.Unit.Do(t.Context(), func(ctx context.Context) error {
					_, err := e.Deliveries.InsertDeliveries(ctx, []notify.Delivery{e.delivery(run, i)})
					return err
				})
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		if err := e.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "left behind", 0, len(e.list(t, run)))
	}
}

func raceSave(t *testing.T, e *env) {
	for n := range 4 {
		var mu sync.Mutex
		rule := map[string]int{}
		txtest.Together(12, func(i int) {
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				ref, err := e.Targets.SaveTarget(ctx, fmt.Sprintf("ntg_%d_%d", n, i), fmt.Sprint(n), []byte{byte(i)})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					rule[ref]++
				}
				return err
			})
			if err != nil {
				t.Errorf("keep: %v", err)
			}
		})
		if len(rule) != 1 {
			t.Errorf("these rule: %v", rule)
		}
		for ref := range rule {
			same(t, "one is kept", 1, len(e.sealed(t, ref)))
		}
	}
	same(t, "all that is kept", 4, len(e.listSealed(t, "", 99)))
}

func raceSaveSeveral(t *testing.T, e *env) {
	for n := range 4 {
		txtest.Together(6, func(i int) {
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				for k := range 3 {
					name := fmt.Sprintf("%d_%d", n, k)
					if _, err := e.Targets.SaveTarget(ctx, fmt.Sprintf("ntg_%s_%d", name, i), name, []byte("x")); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("keep: %v", err)
			}
		})
	}
	same(t, "all that is kept", 12, len(e.listSealed(t, "", 99)))
}

func raceEnd(t *testing.T, e *env) {
	for range 5 {
		d := e.add(t)
		txtest.Together(4, func(i int) {
			var err error
			if i%2 == 0 {
				err = e.Deliveries.EndDelivery(t.Context(), d.ID, notify.Delivered, "")
			} else {
				err = e.Deliveries.DeferDelivery(t.Context(), d.ID, "late", gone)
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		if got := e.get(t, d.RunID); got.Status != notify.Delivered || got.Reason != "" {
			t.Errorf("%+v", got)
		}
		e.takes(t, "after the end", 9, visibility, nil)
	}
}
