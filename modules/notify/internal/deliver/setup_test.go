package deliver

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlnotify "github.com/writ-automation/writ/adapters/sqlstore/notify"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// usual are settings with short pauses.
func usual() Settings {
	return Settings{
		Topic: "notify", Poll: 10 * time.Second, LeaseTime: 30 * time.Second, Try: 20 * time.Second, Grace: time.Second,
		Pauses: []time.Duration{20 * time.Millisecond, 100 * time.Millisecond}, Pool: 8, PerLane: 2, Strays: 64,
	}
}

// sent is one call of a sender.
type sent struct {
	ID      string
	Attempt int
}

// ledger is a sender and a meter that record their calls.
type ledger struct {
	mu    sync.Mutex
	tries []sent
	now   map[string]int // running, by lane
	most  map[string]int
	count map[string]int
	do    func(ctx context.Context, d notify.Delivery) error
}

func newLedger(do func(ctx context.Context, d notify.Delivery) error) *ledger {
	return &ledger{now: map[string]int{}, most: map[string]int{}, count: map[string]int{}, do: do}
}

func (l *ledger) Send(ctx context.Context, d notify.Delivery) error {
	l.mu.Lock()
	l.tries = append(l.tries, sent{d.ID, d.Attempts})
	l.now[d.Lane()]++
	l.most[d.Lane()] = max(l.most[d.Lane()], l.now[d.Lane()])
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.now[d.Lane()]--
		l.mu.Unlock()
	}()
	if l.do == nil {
		return nil
	}
	return l.do(ctx, d)
}

func (l *ledger) Count(o notify.Origin, kind string, s notify.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[fmt.Sprint(o, " ", kind, " ", s)]++
}

func (l *ledger) sent() []sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sent(nil), l.tries...)
}

func (l *ledger) counted(what string) int { l.mu.Lock(); defer l.mu.Unlock(); return l.count[what] }

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }

// about returns the lines that contain a text.
func (l *lines) about(what string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, what) {
			out = append(out, line)
		}
	}
	return out
}

type bundle struct {
	*Engine
	t        *testing.T
	d        *db.DB
	store    *sqlnotify.Store
	recorder *ledger
	log      *lines
	n        int
}

func setup(t *testing.T, d *db.DB, set Settings, recorder *ledger) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlnotify.New(d), recorder: recorder, log: &lines{}}
	b.Engine = New(b.store, recorder, d.Signals(), recorder, slog.New(slog.NewTextHandler(b.log, nil)), set)
	return b
}

func eachEngine(
	t *testing.T, set Settings, do func(context.Context, notify.Delivery) error, test func(t *testing.T, b *bundle),
) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, set, newLedger(do))) })
}

// Stop stops the engine and waits until it has ended.
func (b *bundle) Stop() {
	if err := b.Engine.Stop(context.Background()); err != nil {
		b.t.Error(err)
	}
}

// run starts the engine until the test ends.
func (b *bundle) run() {
	b.Start()
	b.t.Cleanup(b.Stop)
}

// add stores deliveries to one target, each for a run of its own.
func (b *bundle) add(digest string, n int) []notify.Delivery {
	b.t.Helper()
	var list []notify.Delivery
	store := sqlruns.New(b.d)
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		for range n {
			b.n++
			id := fmt.Sprintf("run_%026d", b.n)
			err := store.Insert(ctx, &runs.Run{
				ID: id, Kind: runs.Single, Status: runs.Canceled,
				Spec:  runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
				Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"}, CreatedAt: start, EndedAt: start,
				Objects: []string{access.Queue(runs.DefaultQueue)},
			})
			if err != nil {
				return err
			}
			list = append(list, notify.Delivery{
				ID: fmt.Sprintf("nty_%026d", b.n), RunID: id, Event: notify.Finished, Origin: notify.OfServer, Kind: "webhook",
				Digest: digest,
				Target: runs.Notification{Kind: "webhook", URL: "https://hooks.example/***"}, Status: notify.Pending,
			})
		}
		if _, err := b.store.InsertDeliveries(ctx, list); err != nil {
			return err
		}
		return b.d.Signals().Signal(ctx, b.set.Topic, "")
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bundle) get(d notify.Delivery) notify.Delivery {
	b.t.Helper()
	list, _, err := b.store.ListDeliveries(context.Background(), d.RunID, page.Window{})
	if err != nil || len(list) != 1 {
		b.t.Fatal(list, err)
	}
	return list[0]
}

// ends waits until a delivery has ended and checks its state.
func (b *bundle) ends(d notify.Delivery, want notify.Status, reason string, attempts int) {
	b.t.Helper()
	waittest.Eventually(b.t, time.Minute, d.ID+" ends", func() bool { return b.get(d).Status != notify.Pending })
	if got := b.get(d); got.Status != want || got.Reason != reason || got.Attempts != attempts || got.EndedAt.IsZero() {
		b.t.Errorf("%+v, want %s for %q after %d tries", got, want, reason, attempts)
	}
}
