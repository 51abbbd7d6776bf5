package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/execution/internal/masking"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a relay on real stores.
type fixture struct {
	t         *testing.T
	d         *db.DB
	plane     *plane
	store     *sqlexecution.Store
	vault     *vault
	sealer    *box
	gate      *gate
	materials *fakeMaterials
	heads     *heads
	clock     *clock
	log       *lines
	cfg       relay.Config
	deps      relay.Deps
	relay     *relay.Relay
	n         int
}

// clock is the time of day with a shift.
type clock struct {
	mu    sync.Mutex
	shift time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now().Add(c.shift)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift += d
}

// lines keeps what is logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// each runs a test on both engines.
func each(t *testing.T, fn func(t *testing.T, w *fixture)) {
	t.Helper()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { fn(t, build(t, d)) })
}

// one runs a test on the faster engine only, for behaviour that does not depend on the store.
func one(t *testing.T, edit ...func(c *relay.Config)) *fixture {
	t.Helper()
	return build(t, dbtest.Open(t, db.SQLite, migrations.FS), edit...)
}

func build(t *testing.T, d *db.DB, edit ...func(c *relay.Config)) *fixture {
	t.Helper()
	w := &fixture{
		t: t, d: d, plane: newPlane(d), store: sqlexecution.New(d), vault: &vault{}, sealer: &box{}, gate: &gate{},
		materials: &fakeMaterials{},
		heads:     &heads{}, clock: &clock{}, log: &lines{},
		cfg: relay.Config{MaxEvents: 100, ScratchDir: t.TempDir()},
	}
	for _, fn := range edit {
		fn(&w.cfg)
	}
	w.deps = relay.Deps{
		Gate:  w.gate,
		Plane: w.plane, Claims: w.store, Workers: w.store,
		Records: relay.Records{Runs: w.plane.store, Events: w.plane.store, Summaries: w.plane.store},
		Masks:   masking.New(w.store, w.sealer, d),
		Secrets: w.vault, Materials: w.materials, Heads: w.heads, Signals: d.Signals(), Unit: d, Clock: w.clock,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	w.relay = relay.New(w.deps, w.cfg)
	t.Cleanup(w.relay.Close)
	return w
}

// submit stores a pending run and signals it.
func (w *fixture) submit(edit ...func(r *runs.Run)) string {
	w.t.Helper()
	w.n++
	at := now()
	r := &runs.Run{
		ID: fmt.Sprintf("run_%d", w.n), Kind: runs.Single, Status: runs.Pending,
		Spec:   runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
		Origin: runs.Origin{Source: runs.FromAPI}, Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"},
		CreatedAt: at, QueuedAt: at,
		Objects: []string{access.Queue(runs.DefaultQueue)},
	}
	for _, fn := range edit {
		fn(r)
	}
	w.must(w.d.Do(w.t.Context(), func(ctx context.Context) error {
		if err := w.plane.store.Insert(ctx, r); err != nil {
			return err
		}
		return w.d.Signals().Signal(ctx, events.TopicQueue, r.Spec.Queue)
	}))
	return r.ID
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func asks(name string, queues ...string) execution.RelayClaim {
	return execution.RelayClaim{Worker: execution.RelayPeer{Name: name, Version: "1", Executors: 2, Installs: true},
		Queues: queues}
}

// claim takes the next run, which must be there.
func (w *fixture) claim(name string) (*execution.Grant, execution.Leaseholder) {
	w.t.Helper()
	g, _, err := w.relay.Claim(w.t.Context(), asks(name))
	w.must(err)
	if g == nil {
		w.t.Fatal("no run waits")
	}
	return g, execution.Leaseholder{RunID: g.Run.ID, Capability: g.Capability}
}

// begun submits, claims and begins a run.
func (w *fixture) begun(edit ...func(r *runs.Run)) (*execution.Grant, execution.Leaseholder) {
	w.t.Helper()
	w.submit(edit...)
	g, h := w.claim("w")
	w.must(w.relay.Save(w.t.Context(), h, execution.RelaySave{Status: runs.Running}))
	return g, h
}

func (w *fixture) run(id string) *runs.Run {
	w.t.Helper()
	r, err := w.plane.store.ByID(w.t.Context(), id)
	w.must(err)
	return r
}

func (w *fixture) fleet() []execution.Worker {
	w.t.Helper()
	list, _, err := w.store.Workers(w.t.Context(), window)
	w.must(err)
	return list
}

// until waits for an effect of another goroutine.
func (w *fixture) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			w.t.Fatalf("%s did not happen", what)
		case <-tick.C:
		}
	}
}

func bearer(id string, capability secret.Text) execution.Leaseholder {
	return execution.Leaseholder{RunID: id, Capability: capability}
}

// ends is the body of a mere change of state.
func ends(s runs.Status) execution.RelaySave { return execution.RelaySave{Status: s} }
