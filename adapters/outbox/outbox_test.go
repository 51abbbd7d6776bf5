package outbox

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/waittest"
)

//go:embed testdata/migrations
var files embed.FS

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func migrations(t *testing.T) fs.FS {
	t.Helper()
	sub, err := fs.Sub(files, "testdata/migrations")
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

type happened struct {
	N int `json:"n"`
}

func (happened) EventName() string { return "test.thing_happened" }
func (happened) EventVersion() int { return 3 }

// recorder is a bus that stores what it is sent. It refuses messages while it is down, and hangs on each message for
// the subscriber "hangs".
type recorder struct {
	mu    sync.Mutex
	down  bool
	tries int
	sent  []events.Message
}

func (r *recorder) Send(ctx context.Context, m events.Message) error {
	if m.To == "hangs" {
		<-ctx.Done()
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if r.down {
		return errors.New("the bus is down")
	}
	r.sent = append(r.sent, m)
	return nil
}

func (r *recorder) Subscribe(events.Subscription) error { return nil }
func (r *recorder) Run(context.Context) error           { return nil }

func (r *recorder) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *recorder) got() (sent []string, tries int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sent {
		sent = append(sent, string(m.Data))
	}
	slices.Sort(sent)
	return sent, r.tries
}

type fixture struct {
	db       *db.DB
	audience *Audience
	writer   *Writer
	bus      *recorder
}

func each(t *testing.T, fn func(t *testing.T, f fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations(t), func(t *testing.T, d *db.DB) {
		c := clock.New()
		a := NewAudience(map[string][]string{happened{}.EventName(): {"notify"}})
		fn(t, fixture{db: d, audience: a, writer: NewWriter(d, d.Signals(), a, c, ids.New(c)), bus: &recorder{}})
	})
}

// start runs a relay until the test ends or stop is called, which waits for it.
func (f fixture) start(t *testing.T, poll time.Duration) (stop func()) {
	t.Helper()
	r := NewRelay(f.db, f.db.Signals(), f.bus, f.audience, nil, nil)
	r.poll = poll
	r.Start()
	stop = func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (f fixture) publish(t *testing.T, ns ...int) {
	t.Helper()
	err := f.db.Do(t.Context(), func(ctx context.Context) error {
		for _, n := range ns {
			if err := f.writer.Publish(ctx, happened{N: n}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f fixture) stored(t *testing.T) int {
	t.Helper()
	n, err := f.db.Read(t.Context()).NewSelect().Model((*row)(nil)).Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func TestMessagesLeaveWithTheCommit(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		f.start(t, time.Hour)
		err := f.db.Do(t.Context(), func(ctx context.Context) error {
			return errors.Join(f.writer.Publish(ctx, happened{N: 1}), errors.New("stop"))
		})
		if err == nil {
			t.Fatal("the unit did not fail")
		}
		f.publish(t, 2, 3)
		waittest.Eventually(t, 20*time.Second, "the outbox is empty", func() bool {
			sent, _ := f.bus.got()
			return len(sent) == 2 && f.stored(t) == 0
		})
		sent, _ := f.bus.got()
		if diff := cmp.Diff([]string{`{"n":2}`, `{"n":3}`}, sent); diff != "" {
			t.Error(diff)
		}
		m := f.bus.sent[0]
		if !portids.Valid(portids.Message, m.ID) || m.To != "notify" || m.Redelivered || m.Name != "test.thing_happened" ||
			m.Version != 3 || m.At.IsZero() {
			t.Errorf("the message is %+v", m)
		}
	})
}

func TestPublishOutsideOfUnit(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		if err := f.writer.Publish(t.Context(), happened{}); !fault.Is(err, fault.Internal) {
			t.Errorf("publish outside of a unit: %v", err)
		}
	})
}

func TestMessagesOutliveABusThatIsDown(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		f.bus.set(true)
		stop := f.start(t, 20*time.Millisecond)
		f.publish(t, 1)
		waittest.Eventually(t, 20*time.Second, "the relay tried", func() bool {
			_, tries := f.bus.got()
			return tries > 2
		})
		stop()
		if n := f.stored(t); n != 1 {
			t.Errorf("%d messages are stored, want the one that was refused", n)
		}
		f.bus.set(false)
		f.start(t, time.Hour)
		waittest.Eventually(t, 20*time.Second, "the message left", func() bool {
			sent, _ := f.bus.got()
			return len(sent) == 1 && f.stored(t) == 0
		})
	})
}

func TestManyMessagesLeaveInBatches(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		const units, perUnit = 30, 25
		var want []string
		for u := range units {
			var ns []int
			for n := range perUnit {
				ns = append(ns, u*perUnit+n)
				want = append(want, fmt.Sprintf(`{"n":%d}`, u*perUnit+n))
			}
			f.publish(t, ns...)
		}
		slices.Sort(want)
		f.start(t, time.Hour)
		waittest.Eventually(t, 20*time.Second, "the outbox is empty", func() bool { return f.stored(t) == 0 })
		sent, _ := f.bus.got()
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Error(diff)
		}
	})
}

func TestModuleRunsTheRelay(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations(t))
	bus, observer := &recorder{}, &passes{}
	var publisher events.Publisher
	app := fxtest.New(t, Module, fx.NopLogger,
		fx.Supply(fx.Annotate(observer, fx.As(new(background.Observer)))),
		fx.Supply(d, slog.New(slog.DiscardHandler), NewAudience(map[string][]string{happened{}.EventName(): {"notify"}})),
		fx.Provide(
			func() events.Bus { return bus },
			func() events.Signals { return d.Signals() },
			func() portclock.Clock { return clock.New() },
			func(c portclock.Clock) portids.Generator { return ids.New(c) },
		), fx.Populate(&publisher))
	app.RequireStart()
	err := d.Do(t.Context(), func(ctx context.Context) error { return publisher.Publish(ctx, happened{N: 9}) })
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 20*time.Second, "the message left", func() bool {
		sent, _ := bus.got()
		return len(sent) == 1
	})
	app.RequireStop()
	if got := observer.names(); !slices.Equal(got, []string{"outbox of notify", "outbox of others"}) {
		t.Errorf("observed passes of %v", got)
	}
}

// passes is an observer that records which work had a pass that succeeded.
type passes struct {
	mu   sync.Mutex
	work []string
}

func (p *passes) Pass(work string) func(error) {
	return func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil && !slices.Contains(p.work, work) {
			p.work = append(p.work, work)
		}
	}
}

func (p *passes) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.work))
}
