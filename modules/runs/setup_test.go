package runs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

func TestMain(m *testing.M) {
	depthtest.Checks("20", "100") // each draw asks a database
	m.Run()
}

// bundle is the module over a real database.
type bundle struct {
	module.Result
	t     testing.TB
	d     *db.DB
	store *sqlruns.Store
	heard *heard
	trail *trail

	policies *policies
	repairs  *repairs
}

// heard holds the messages of committed units.
type heard struct {
	mu  sync.Mutex
	all []events.Event
}

func (h *heard) Publish(ctx context.Context, e events.Event) error {
	tx.OnCommit(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, e)
	})
	return nil
}

// finished returns the published ends of a run.
func (h *heard) finished(id string) (out []runs.Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.all {
		if f, ok := e.(runs.Finished); ok && f.RunID == id {
			out = append(out, f)
		}
	}
	return out
}

func eachEngine(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, module.Config{})) })
}

// openGate is a guard that allows everything.
type openGate struct{}

func (openGate) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }
func (openGate) Scope(context.Context) (access.Scope, error)                { return access.Everything(), nil }
func (openGate) MayAsk(context.Context, string, string) (bool, error)       { return true, nil }

// rights decides about objects and operations.
type rights interface {
	access.Guard
	access.Operations
}

func setup(t testing.TB, d *db.DB, cfg module.Config) *bundle {
	t.Helper()
	return guarded(t, d, cfg, openGate{})
}

func guarded(t testing.TB, d *db.DB, cfg module.Config, g rights) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlruns.New(d), heard: &heard{}, trail: newTrail(), policies: &policies{},
		repairs: &repairs{}}
	s := b.store
	var err error
	b.Result, err = module.New(module.Params{
		Store: s, Queue: s, Logs: s, EventStore: s, Summaries: s, Keys: s, TicketStore: s, Purger: s,
		Unit: d, Publisher: b.heard, Signals: d.Signals(), Clock: clock.New(), IDs: ids.New(clock.New()),
		Tools:  execution.Tools{"ansible": nil, "bash": nil},
		Config: cfg, Guard: g, Operations: g, Objects: s, Slots: s, Waits: s,
		PlanStore: s, FacetStore: s, Recorder: b.trail, Targets: masking{}, Repairs: b.repairs,
		Policies: b.policies, Teams: teams{of: map[string][]string{"eve": {"team_1"}, "dan": {"team_1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func script() runs.Submission {
	return runs.Submission{Spec: runs.Spec{Tool: "bash", Command: "true"}}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (b *bundle) submit(s runs.Submission) *runs.Run {
	b.t.Helper()
	r, _, err := b.Submitter.Submit(b.t.Context(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bundle) get(id string) *runs.Run {
	b.t.Helper()
	return must[*runs.Run](b.t)(b.Reader.Get(b.t.Context(), id))
}

func (b *bundle) status(id string, want runs.Status) *runs.Run {
	b.t.Helper()
	r := b.get(id)
	if r.Status != want {
		b.t.Fatalf("run %s (%s %s) is %s (%s), want %s", id, r.Kind, r.Name, r.Status, r.Error, want)
	}
	return r
}

// claim claims the next run. It fails the test if there is none.
func (b *bundle) claim() *runs.Assignment {
	b.t.Helper()
	a := must[*runs.Assignment](b.t)(b.Worklist.Claim(b.t.Context(), runs.ClaimRequest{Worker: "w1"}))
	if a == nil {
		b.t.Fatal("nothing to claim")
	}
	return a
}

func (b *bundle) idle() {
	b.t.Helper()
	if a := must[*runs.Assignment](b.t)(b.Worklist.Claim(b.t.Context(), runs.ClaimRequest{Worker: "w1"})); a != nil {
		b.t.Fatalf("%s %q can be claimed", a.Run.Kind, a.Run.Name)
	}
}

func (b *bundle) begin(a *runs.Assignment) {
	b.t.Helper()
	if err := b.Worklist.Begin(b.t.Context(), a.Lease); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) finish(a *runs.Assignment, e runs.Ending) {
	b.t.Helper()
	if err := b.Worklist.Finish(b.t.Context(), a.Lease, e); err != nil {
		b.t.Fatal(err)
	}
}

// run claims the next run, begins and ends it.
func (b *bundle) run(s runs.Status) *runs.Assignment {
	b.t.Helper()
	a := b.claim()
	b.begin(a)
	b.finish(a, runs.Ending{Status: s})
	return a
}

// eventually polls until the condition holds.
func (b *bundle) eventually(what string, condition func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatalf("never: %s", what)
		}
	}
}
