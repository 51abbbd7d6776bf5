package fire

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	"github.com/writ-automation/writ/modules/scheduling/internal/schedule"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledger creates runs as the real submitter does: one for each key.
type ledger struct {
	mu     sync.Mutex
	runs   map[string]string // by key
	asked  map[string]int
	status map[string]runs.Status // by id
	fails  error
	seen   chan string // keys, in the order of the creation of their runs
}

func newLedger() *ledger {
	return &ledger{runs: map[string]string{}, asked: map[string]int{}, status: map[string]runs.Status{},
		seen: make(chan string, 10_000)}
}

func (l *ledger) make(f *scheduling.Firing) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := f.Key()
	l.asked[key]++
	if l.runs[key] == "" {
		l.runs[key] = fmt.Sprintf("run_%d", len(l.runs)+1)
		l.seen <- key
	}
	return l.runs[key]
}

// Get returns a run, which is running unless the test says otherwise.
func (l *ledger) Get(_ context.Context, id string) (*runs.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails != nil {
		return nil, l.fails
	}
	if l.status[id] == "" {
		return &runs.Run{ID: id, Status: runs.Running}, nil
	}
	return &runs.Run{ID: id, Status: l.status[id]}, nil
}

// becomes sets what Get returns: the status of a run, or an error.
func (l *ledger) becomes(id string, status runs.Status, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status[id], l.fails = status, err
}

func (l *ledger) count() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.runs) }

// maker calls a ledger after a function of the test.
type maker struct {
	*ledger
	first func(ctx context.Context, f *scheduling.Firing) error
}

func (m *maker) Make(ctx context.Context, f *scheduling.Firing) (string, error) {
	if m.first != nil {
		if err := m.first(ctx, f); err != nil {
			return "", err
		}
	}
	return m.make(f), nil
}

type bundle struct {
	*Engine
	t     *testing.T
	d     *db.DB
	store *sqlscheduling.Store
	maker *maker
}

var usual = Settings{Topic: schedule.Topic, Catchup: 5 * time.Minute, LeaseTime: time.Minute, Poll: 20 * time.Second,
	Pool: 8}

func eachEngine(t *testing.T, set Settings, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, set, nil, newLedger())) })
}

func setup(t *testing.T, d *db.DB, set Settings, times Times, l *ledger) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlscheduling.New(d), maker: &maker{ledger: l}}
	if times == nil {
		times = schedule.Times{}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	b.Engine = New(b.store, b.store, times, b.maker, l, d.Signals(), clock.New(), log, set)
	return b
}

// storeTime returns the store's time.
func (b *bundle) storeTime() time.Time {
	b.t.Helper()
	_, now, _, err := b.store.Due(b.t.Context(), 1)
	if err != nil {
		b.t.Fatal(err)
	}
	return now
}

// once returns an expression that matches one minute of the year.
func once(at time.Time) string {
	return fmt.Sprintf("%d %d %d %d *", at.Minute(), at.Hour(), at.Day(), at.Month())
}

var serial = struct {
	sync.Mutex
	n int
}{}

// add stores a schedule with a due slot.
func (b *bundle) add(expr string, slot time.Time) scheduling.Schedule {
	b.t.Helper()
	serial.Lock()
	serial.n++
	n := serial.n
	serial.Unlock()
	s := scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{ID: fmt.Sprintf("sch_%026d", n), Name: fmt.Sprint(n),
			CreatedBy: "usr_1",
			Revision:  1,
			CreatedAt: slot, UpdatedAt: slot}, Owner: "usr_1"},
		Cron: expr, Timezone: "UTC", Enabled: true, NextRunAt: slot, Target: scheduling.Target{TemplateID: "tpl_1"},
	}
	if err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.store.InsertSchedule(ctx, s)
	}); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bundle) get(id string) scheduling.Schedule {
	b.t.Helper()
	s, err := b.store.ScheduleByID(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bundle) update(s scheduling.Schedule) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		_, err := b.store.UpdateSchedule(ctx, s, 0)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) remove(id string) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.store.DeleteSchedule(ctx, id, 0)
	}); err != nil {
		b.t.Fatal(err)
	}
}

// all makes passes until nothing is due, and waits for the started work.
func (b *bundle) all() {
	b.t.Helper()
	for range 10 {
		if b.pass(b.t.Context()) > conflictPause {
			break
		}
	}
	b.work.Wait()
}

// open returns the number of unsettled slots, leased or not.
func (b *bundle) open() (n int) {
	b.t.Helper()
	err := b.d.Read(b.t.Context()).QueryRowContext(b.t.Context(),
		"SELECT count(*) FROM schedule_slots WHERE settled_at IS NULL").Scan(&n)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// expire ends every lease.
func (b *bundle) expire() {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		q, err := b.d.Write(ctx)
		if err == nil {
			_, err = q.ExecContext(ctx, "UPDATE schedule_slots SET held_until = ?", b.d.Dialect().LeaseNow().Add(-time.Second))
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// last checks the last_* fields of a schedule.
func (b *bundle) last(id string, slot time.Time, run, reason string) {
	b.t.Helper()
	if s := b.get(id); !s.LastRunAt.Equal(slot) || s.LastRunID != run || s.LastError != reason {
		b.t.Errorf("the last slot is %s, %q, %q, want %s, %q, %q", s.LastRunAt, s.LastRunID, s.LastError, slot, run, reason)
	}
}

// Stop stops the engine and waits for its work.
func (b *bundle) Stop() {
	if err := b.Engine.Stop(context.Background()); err != nil {
		b.t.Error(err)
	}
}
