package execution_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// surroundings are what every process gives an executor.
func (b *bench) surroundings() fx.Option {
	return fx.Options(fx.NopLogger, fx.Supply(b.config, b.tools), fx.Provide(
		func() ports.ControlPlane { return b.plane },
		func() ports.Reaper { return b.reaper },
		func() events.Signals { return b.signals },
		func() clock.Clock { return fixedClock{} },
	))
}

// stores are those of an install.
func stores(d *db.DB) fx.Option {
	store := sqlexecution.New(d)
	return fx.Provide(
		func() ports.WorkerStore { return store },
		func() ports.ClaimStore { return store },
		func() ports.WorkerTokenStore { return store },
		func() tx.Unit { return d },
		func() ports.ClaimSecretStore { return store },
		func() secrets.Sealer { return noRecords{} },
		func() runs.Redactor { return noRecords{} },
		func() access.Guard { return guard{} },
		func() identity.VersionStore { return noRecords{} },
		fx.Annotate(func() *sqlruns.Store { return sqlruns.New(d) }, fx.As(new(runs.Store)), fx.As(new(runs.EventStore)),
			fx.As(new(runs.SummaryStore))),
	)
}

// during runs fn while an application of these parts runs.
func during(t *testing.T, fn func(), parts ...fx.Option) {
	t.Helper()
	app := fx.New(parts...)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fn()
	if err := app.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestAServerHasARelay that ends its waits when the server stops.
func TestAServerHasARelay(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.config.Executors = 0
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	var relay ports.Relay
	var journal ports.RelayJournal
	var materials ports.RelayMaterials
	waited := make(chan error, 1)
	claim := ports.RelayClaim{Worker: ports.RelayPeer{Name: "w", Executors: 1}, WaitSeconds: 30}
	during(t, func() {
		if relay == nil || journal == nil || materials == nil {
			t.Fatal("a port is missing")
		}
		go func() {
			_, _, err := relay.Claim(ports.WithPeer(context.Background(), ports.Peer{}), claim)
			waited <- err
		}()
		b.until("the worker waits", func() bool {
			return b.plane.count(
				"held") > 1
		}) // the executor asks once, the report asks
	}, b.surroundings(), stores(d), execution.Module, fx.Populate(&relay, &journal, &materials))
	if err := <-waited; err != nil {
		t.Errorf("who waited heard %v", err)
	}
	if _, _, err := relay.Claim(ports.WithPeer(t.Context(), ports.Peer{}), claim); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}

// TestAWorkerOverTheDatabase executes and tells the fleet what it is.
func TestAWorkerOverTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.config.Kind, b.config.Labels, b.config.Version = ports.DatabaseWorker, map[string]string{"site": "north"}, "1"
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	list := func() []ports.Worker {
		list, _, err := sqlexecution.New(d).Workers(t.Context(), page.Window{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	b.plane.submit(&runs.Run{ID: "run_1", Spec: runs.Spec{Command: "hi"}})
	during(t, func() {
		if got := b.ended("run_1"); got.run.Status != runs.Succeeded {
			t.Errorf("%+v", got.end)
		}
		for begun := time.Now(); len(list()) == 0 && time.Since(begun) < time.Minute; {
			runtime.Gosched()
		}
		got := list()
		if len(got) != 1 || got[0].Name != "w1" || got[0].Kind != ports.DatabaseWorker ||
			!cmp.Equal(got[0].Labels, b.config.Labels) {
			t.Errorf("the fleet is %+v", got)
		}
	}, b.surroundings(), stores(d), execution.WorkerModule)
	if got := list(); len(got) != 0 {
		t.Errorf("after its end the fleet is %+v", got)
	}
}

// TestAWorkerWithoutADatabase executes runs with only a control plane.
func TestAWorkerWithoutADatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.plane.submit(&runs.Run{ID: "run_1", Spec: runs.Spec{Command: "hi"}})
	during(t, func() {
		if got := b.ended("run_1"); got.run.Status != runs.Succeeded || string(got.log) != "hi" {
			t.Errorf("%+v", got.end)
		}
	}, b.surroundings(), execution.RelayWorkerModule)
}

// TestARelayNeeds its stores, and settings that can work.
func TestARelayNeeds(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	store, journal := sqlexecution.New(d), sqlruns.New(d)
	p := execution.RelayParams{
		Plane: newPlane(), Claims: store, Workers: store, Runs: journal, Events: journal, Summaries: journal,
		Unit: d, Clock: fixedClock{}, Config: execution.Config{Worker: "w", RunsDir: t.TempDir()},
	}
	r, err := execution.NewRelay(p)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for field, c := range map[string]execution.RelayConfig{"data-dir": {ScratchDir: "scratch"},
		"worker-queue": {Queues: []string{""}}} {
		p.Config.Relay = c
		if _, err := execution.NewRelay(p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
	p.Config.Relay = execution.RelayConfig{ScratchDir: filepath.Join(t.TempDir(), "scratch"), Queues: []string{"q"}}
	if r, err = execution.NewRelay(p); err != nil {
		t.Fatal(err)
	}
	r.Close()
}

// TestFactsFollowTheirHosts checks that a short run reports its result on a host before the host's facts.
func TestFactsFollowTheirHosts(t *testing.T) {
	t.Parallel()
	b := setup(t, &player{play: func(_ context.Context, _ ports.Play, sink func(runs.Event) error) (ports.PlayResult,
		error) {
		for _, e := range []runs.Event{{Type: runs.EventHostOK, Host: "h"},
			{Type: runs.EventFacts, Host: "h", Facts: []byte(`{"os":"x"}`)}} {
			if err := sink(e); err != nil {
				return ports.PlayResult{}, err
			}
		}
		return ports.PlayResult{Complete: true, Touched: 1}, nil
	}})
	b.plane.fail(func(op, id string) error {
		if op == "facts" && len(b.plane.see(id).events) == 0 {
			return fault.BadField("facts[0].host", "the run has told no result of this host")
		}
		return nil
	})
	got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{Playbook: "site.yml"}})
	if got.run.Status != runs.Succeeded || len(got.events) != 2 || len(got.facts) != 1 || len(got.hosts) != 1 {
		t.Errorf("%+v with %d events, %d facts", got.end, len(got.events), len(got.facts))
	}
}
