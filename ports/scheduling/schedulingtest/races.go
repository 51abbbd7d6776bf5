package schedulingtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func raceCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"one slot, many servers":         raceAdvance,
		"abandoned slots, many servers":  raceAbandoned,
		"one delivery, many times":       raceRemember,
		"deleted while slots move":       raceDelete,
		"one name at once":               raceName,
		"changed while the slot is due":  raceUpdate,
		"settled by two servers at once": raceSettle,
	}
}

func raceAdvance(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	for n := 1; n <= 5; n++ {
		var won atomic.Int64
		txtest.Together(16, func(int) {
			ok, err := e.Slots.Advance(t.Context(), s.ID, minute(n), minute(n+1), minute(n), leaseTime)
			if err != nil {
				t.Errorf("advance: %v", err)
			}
			if ok {
				won.Add(1)
			}
		})
		if won.Load() != 1 {
			t.Errorf("slot %d was booked %d times", n, won.Load())
		}
	}
	if got := e.get(t, s.ID); !got.NextRunAt.Equal(minute(6)) {
		t.Errorf("the next slot is %s", got.NextRunAt)
	}
}

func raceAbandoned(t *testing.T, e *env) {
	const schedules, slots = 6, 5
	for range schedules {
		s := e.add(t, next(minute(1)))
		for n := 1; n <= slots; n++ {
			e.advance(t, s.ID, minute(n), minute(n+1), minute(n), gone, true)
		}
	}
	var mu sync.Mutex
	seen := map[string]int{}
	txtest.Together(8, func(i int) {
		for range schedules * slots {
			list, err := e.Slots.Abandoned(t.Context(), leaseTime, 1+i%4)
			if err != nil {
				t.Errorf("look for abandoned slots: %v", err)
			}
			mu.Lock()
			for _, f := range list {
				seen[f.Key()]++
			}
			mu.Unlock()
		}
	})
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s was handed out %d times", name, n)
		}
	}
	if len(seen) != schedules*slots {
		t.Errorf("%d of %d were handed out", len(seen), schedules*slots)
	}
}

// raceRemember sends one id, one body under many ids and many bodies under one id.
func raceRemember(t *testing.T, e *env) {
	h := e.hook(t)
	for name, key := range map[string]func(i int) scheduling.DeliveryKeys{
		"one id":         func(int) scheduling.DeliveryKeys { return unsigned("one") },
		"one body":       func(i int) scheduling.DeliveryKeys { return signed(fmt.Sprint("id ", i), "one body") },
		"bodies, one id": func(i int) scheduling.DeliveryKeys { return signed("bodies", fmt.Sprint("body ", i)) },
	} {
		var first atomic.Int64
		txtest.Together(20, func(i int) {
			was, fresh, err := e.Deliveries.Remember(t.Context(), h.ID, key(i), leaseTime)
			if err != nil || was != (scheduling.Delivered{}) {
				t.Errorf("%s: %+v, %v", name, was, err)
			}
			if fresh {
				first.Add(1)
			}
		})
		if first.Load() != 1 {
			t.Errorf("%s: %d were the first", name, first.Load())
		}
	}
}

// raceDelete deletes schedules while servers book, take over and settle their slots.
func raceDelete(t *testing.T, e *env) {
	for range 5 {
		s := e.add(t, next(minute(1)))
		txtest.Together(6, func(i int) {
			var err error
			switch i {
			case 0:
				err = e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Schedules.DeleteSchedule(ctx, s.ID, 0) })
			case 1:
				_, err = e.Slots.Abandoned(t.Context(), gone, 9)
			case 2:
				err = e.Slots.Settle(t.Context(), s.ID, minute(1), "run_1", "")
			default:
				_, err = e.Slots.Advance(t.Context(), s.ID, minute(i-2), minute(i-1), minute(i-2), gone)
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	same(t, "abandoned", []string{}, e.abandoned(t, leaseTime, 9))
}

func raceName(t *testing.T, e *env) {
	var won atomic.Int64
	txtest.Together(8, func(int) {
		s := e.schedule(func(s *scheduling.Schedule) { s.Name = "one" })
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Schedules.InsertSchedule(ctx, s) })
		switch {
		case err == nil:
			won.Add(1)
		case !scheduling.NameTaken.Is(err):
			t.Errorf("insert: %v", err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d have the name", won.Load())
	}
}

// raceUpdate changes a schedule while its slot is booked: both take effect, in either order.
func raceUpdate(t *testing.T, e *env) {
	for range 5 {
		s := e.add(t, next(minute(1)))
		var booked bool
		txtest.Together(2, func(i int) {
			var err error
			if i == 0 {
				booked, err = e.Slots.Advance(t.Context(), s.ID, minute(1), minute(2), minute(1), gone)
			} else {
				x := s
				x.NextRunAt, x.Cron = minute(30), "@hourly"
				err = e.Unit.Do(t.Context(), func(ctx context.Context) error {
					_, err := e.Schedules.UpdateSchedule(ctx, x, 0)
					return err
				})
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		got := e.get(t, s.ID)
		if !got.NextRunAt.Equal(minute(30)) || got.Cron != "@hourly" || got.Revision != 2 {
			t.Errorf("it is %+v", got)
		}
		if n := len(e.abandoned(t, leaseTime, 9)); booked != (n == 1) {
			t.Errorf("booked %t, %d slots", booked, n)
		}
	}
}

func raceSettle(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	txtest.Together(8, func(i int) {
		run, reason := "run_1", ""
		if i%2 == 1 {
			run, reason = "", "no run"
		}
		if err := e.Slots.Settle(t.Context(), s.ID, minute(1), run, reason); err != nil {
			t.Errorf("settle: %v", err)
		}
	})
	if got := e.get(t, s.ID); got.LastRunID != "run_1" || got.LastError != "" {
		t.Errorf("the last is %s, %q", got.LastRunID, got.LastError)
	}
}
