package audittest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func raceCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"units of one process":    func(t *testing.T, e *env) { raceUnits(t, e, e.Stores) },
		"units of two processes":  func(t *testing.T, e *env) { raceUnits(t, e, e.Beside(t)) },
		"a tip from before":       raceForeign,
		"reading beside a writer": raceReader,
		"naming the install":      raceInstall,
	}
}

// raceUnits appends concurrently; every fifth unit rolls back.
func raceUnits(t *testing.T, e *env, other Stores) {
	const writers, units = 8, 50
	lost := errors.New("lost")
	var kept atomic.Int64
	txtest.Together(writers, func(i int) {
		s := []Stores{e.Stores, other}[i%2]
		for n := range units {
			err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
				if _, err := link(ctx, s, plains(1+n%3)...); err != nil {
					return err
				}
				if n%5 == 4 {
					return lost
				}
				return nil
			})
			switch {
			case err == nil:
				kept.Add(int64(1 + n%3))
			case !errors.Is(err, lost):
				t.Errorf("append: %v", err)
			}
		}
	})
	e.linear(t, int(kept.Load()))
	n, last, err := e.Reader.Count(t.Context())
	if n != kept.Load() || last != n || err != nil {
		t.Errorf("%d entries up to %d, want %d: %v", n, last, kept.Load(), err)
	}
}

// raceForeign appends to a tip that was read before another unit moved it.
func raceForeign(t *testing.T, e *env) {
	e.add(t, plain)
	old := e.tip(t)
	added := e.add(t, plain)
	refused(t, "append", e.do(t, func(ctx context.Context) error {
		_, now, err := e.Chain.Lock(ctx)
		if err != nil {
			return err
		}
		return e.Chain.Append(ctx, []audit.Stored{made(old, now)})
	}), fault.Internal)
	same(t, "tip", of(added[0]), e.tip(t))
	e.linear(t, 2)
}

// raceReader reads during appends: it must see a prefix of the chain.
func raceReader(t *testing.T, e *env) {
	txtest.Together(4, func(i int) {
		for range 20 {
			if i > 0 {
				if err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
					_, err := link(ctx, e.Stores, plains(40)...)
					return err
				}); err != nil {
					t.Errorf("append: %v", err)
				}
				continue
			}
			due := int64(1)
			if err := e.Reader.Range(t.Context(), 1, 1<<40, true, func(s *audit.Stored) error {
				if s.Seq != due {
					t.Errorf("entry %d comes where %d is due", s.Seq, due)
				}
				due = s.Seq + 1
				return nil
			}); err != nil {
				t.Errorf("read: %v", err)
			}
		}
	})
	e.linear(t, 3*20*40)
}

// raceInstall sets two ids of the install concurrently, in units that read the id first and in units that do not.
func raceInstall(t *testing.T, e *env) {
	other := e.Beside(t)
	var won atomic.Int64
	txtest.Together(8, func(i int) {
		s, id := []Stores{e.Stores, other}[i%2], string(rune('a'+i))
		err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
			if had, err := s.Identity.Install(ctx); had != "" || err != nil {
				return err
			}
			won.Add(1)
			return s.Identity.SetInstall(ctx, id)
		})
		if err != nil {
			t.Errorf("name the install: %v", err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("the install was named %d times", won.Load())
	}
	had, err := other.Identity.Install(t.Context())
	if had == "" || err != nil {
		t.Errorf("the install is %q: %v", had, err)
	}
	txtest.Together(4, func(int) {
		refused(t, "another name", e.Unit.Do(t.Context(), func(ctx context.Context) error {
			return e.Identity.SetInstall(ctx, "x")
		}), fault.Conflict)
	})
	if now, err := e.Identity.Install(t.Context()); now != had || err != nil {
		t.Errorf("the install is %q, was %q: %v", now, had, err)
	}
}
