package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/waittest"
)

type engine struct {
	name string
	open func(t *testing.T) *db.DB
}

// engines runs a test on each database; the senders are made for each.
func engines(t *testing.T) []engine {
	t.Helper()
	var out []engine
	for _, e := range dbtest.Engines() {
		out = append(out, engine{fmt.Sprint(e), func(t *testing.T) *db.DB { return dbtest.Open(t, e, migrations.FS) }})
	}
	return out
}

// TestServers runs four servers over one database. Each delivery is made once.
func TestServers(t *testing.T) {
	t.Parallel()
	const servers, rounds = 4, 12
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	recorder := newLedger(nil)
	var all []*bundle
	for range servers {
		b := setup(t, dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute}), usual(), recorder)
		all = append(all, b)
		b.run()
	}
	var list []notify.Delivery
	for i := range rounds {
		list = append(list, all[0].add(fmt.Sprint("target ", i%5), 10)...)
	}
	for _, d := range list {
		all[0].ends(d, notify.Delivered, "", 1)
	}
	for _, b := range all {
		b.Stop()
	}
	seen := map[string]int{}
	for _, s := range recorder.sent() {
		seen[s.ID]++
		if seen[s.ID] > 1 || s.Attempt != 1 {
			t.Errorf("%+v was tried %d times", s, seen[s.ID])
		}
	}
	if len(seen) != len(list) || recorder.counted("server webhook delivered") != len(list) {
		t.Errorf("%d of %d, %v", len(seen), len(list), recorder.count)
	}
}

// TestKilled claims deliveries as a server does that is killed before it stores their results.
func TestKilled(t *testing.T) {
	eachEngine(t, usual(), nil, func(t *testing.T, b *bundle) {
		killed := func(times int) notify.Delivery {
			d := b.add(fmt.Sprint("target ", times), 1)[0]
			for range times {
				list, _, err := b.store.TakeDeliveries(t.Context(), 1, -time.Second, nil)
				if err != nil || len(list) != 1 || list[0].ID != d.ID {
					t.Fatal(list, err)
				}
			}
			if err := b.store.DeferDelivery(t.Context(), d.ID, "", time.Hour); err != nil {
				t.Fatal(err)
			}
			return d
		}
		once, thrice := killed(1), killed(3)
		for _, d := range []notify.Delivery{once, thrice} {
			if err := b.store.DeferDelivery(t.Context(), d.ID, "", 0); err != nil {
				t.Fatal(err)
			}
		}
		b.run()
		b.ends(once, notify.Delivered, "", 2)
		b.ends(thrice, notify.Failed, "the server ended in the middle of the last try", 4)
		b.Stop()
		if got := b.recorder.sent(); len(got) != 1 || got[0] != (sent{once.ID, 2}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestStop checks that Stop waits for the running try and claims nothing more.
func TestStop(t *testing.T) {
	set := usual()
	set.PerLane = 1
	t.Parallel()
	for _, c := range engines(t) {
		t.Run(c.name, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			b := setup(t, c.open(t), set, newLedger(func(ctx context.Context, _ notify.Delivery) error {
				begun <- struct{}{}
				<-release
				return ctx.Err()
			}))
			b.Start()
			b.Start()
			list := b.add("a", 2)
			<-begun
			short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := b.Engine.Stop(short); err == nil {
				t.Error("it did not wait")
			}
			close(release)
			b.Stop()
			b.Stop()
			done := 0
			for _, d := range list {
				if b.get(d).Status == notify.Delivered {
					done++
				}
			}
			if done != 1 || len(b.recorder.sent()) != 1 {
				t.Errorf("%d delivered, %v", done, b.recorder.sent())
			}
		})
	}
}

// deaf is a store whose first updates fail.
type deaf struct {
	notify.Store
	fails atomic.Int64
	err   error
}

func (s *deaf) EndDelivery(ctx context.Context, id string, status notify.Status, reason string) error {
	if s.fails.Add(-1) >= 0 {
		return s.err
	}
	return s.Store.EndDelivery(ctx, id, status, reason)
}

// TestNotNoted: the store fails after a delivery was made.
func TestNotNoted(t *testing.T) {
	eachEngine(t, usual(), nil, func(t *testing.T, b *bundle) {
		s := &deaf{Store: b.store, err: broken("the database is away")}
		s.fails.Store(2)
		b.Engine = New(s, b.recorder, b.d.Signals(), b.recorder, slog.New(slog.NewTextHandler(b.log, nil)), b.set)
		b.run()
		b.ends(b.add("a", 1)[0], notify.Delivered, "", 1)
		if n := len(b.recorder.sent()); n != 1 {
			t.Errorf("%d tries", n)
		}
		s.err = errors.New("an accident")
		s.fails.Store(1)
		d := b.add("b", 1)[0]
		waittest.Eventually(t, time.Minute, "the log names the failure", func() bool {
			return len(b.log.about("cannot store the result")) == 1
		})
		b.Stop()
		if got := b.get(d); got.Status != notify.Pending || b.recorder.counted("server webhook delivered") != 1 {
			t.Errorf("%+v, %v", got, b.recorder.count)
		}
	})
}

// failing is a store whose first claim of deliveries fails.
type failing struct {
	notify.Store
	once sync.Once
}

func (s *failing) TakeDeliveries(
	ctx context.Context, n int, leaseTime time.Duration, full []string,
) (list []notify.Delivery, wait time.Duration, err error) {
	s.once.Do(func() { err = broken("the database is away") })
	if err != nil {
		return nil, 0, err
	}
	return s.Store.TakeDeliveries(ctx, n, leaseTime, full)
}

func TestNotRead(t *testing.T) {
	eachEngine(t, usual(), nil, func(t *testing.T, b *bundle) {
		b.Engine = New(&failing{Store: b.store}, b.recorder, b.d.Signals(), b.recorder,
			slog.New(slog.NewTextHandler(b.log, nil)), b.set)
		d := b.add("a", 1)[0]
		b.run()
		b.ends(d, notify.Delivered, "", 1)
		if n := len(b.log.about("cannot read the due notifications")); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}
