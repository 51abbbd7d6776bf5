package runs_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	portsclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	portsids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

func TestModuleProvidesEveryPort(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	var submitter runs.Submitter
	app := fxtest.New(t,
		fx.NopLogger,
		fx.Provide(
			fx.Annotate(func() *sqlruns.Store { return sqlruns.New(d) },
				fx.As(new(runs.Store)), fx.As(new(runs.ObjectStore)), fx.As(new(runs.Queue)), fx.As(new(runs.LogStore)),
				fx.As(new(runs.EventStore)),
				fx.As(new(runs.SummaryStore)), fx.As(new(runs.KeyStore)), fx.As(new(runs.TicketStore)), fx.As(new(runs.Purger)),
				fx.As(new(runs.SlotStore)), fx.As(new(runs.WaitStore)),
				fx.As(new(runs.FacetStore)), fx.As(new(runs.PlanStore))),
			func() tx.Unit { return d },
			func() events.Publisher { return &heard{} },
			func() events.Signals { return d.Signals() },
			func() portsclock.Clock { return clock.New() },
			func(c portsclock.Clock) portsids.Generator { return ids.New(c) },
			func() execution.Catalog { return execution.Tools{"bash": nil} },
			func() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) },
			func() (access.Guard, access.Operations) { return openGate{}, openGate{} },
			func() notify.Targets { return masking{} },
			func() audit.Recorder { return newTrail() },
			func() module.Config { return module.Config{} },
		),
		module.Module,
		fx.Invoke(func(runs.Controller, runs.Approver, runs.Reader, runs.Streamer, runs.Tickets, runs.Worklist, runs.Journal,
			runs.Live, runs.Insight, runs.Digests) {
		}),
		fx.Populate(&submitter),
	)
	app.RequireStart()
	if _, _, err := submitter.Submit(t.Context(), script()); err != nil {
		t.Error(err)
	}
	app.RequireStop()
}

func TestInsightOfARealRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), r.ID))
		if len(why.Reasons) != 1 || why.Reasons[0].Code != "waiting_for_executor" || why.Reasons[0].Object != "default" {
			t.Errorf("%+v", why)
		}
		a := b.claim()
		b.begin(a)
		must[int64](t)(b.Journal.AppendEvents(t.Context(), a.Lease, []runs.Event{
			{Seq: a.NextSeq, Type: runs.EventTaskStarted, TaskID: "t", Task: "copy", Play: "p"},
			{Seq: a.NextSeq + 1, Type: runs.EventHostOK, TaskID: "t", Task: "copy", Host: "a"},
		}))
		m := must[*runs.Matrix](t)(b.Insight.Matrix(t.Context(), r.ID, runs.MatrixQuery{}))
		if m.Hosts != 1 || m.Rev != 3 || string(m.Cells) != "\x01\x01" {
			t.Errorf("%+v", m)
		}
		b.finish(a, runs.Ending{Status: runs.Failed, Error: "boom", LogBytes: 12,
			Log: runs.LogChunk{Data: []byte("all\nis lost\n")},
			Events: []runs.Event{{Seq: a.NextSeq + 2, Type: runs.EventHostFailed, TaskID: "t", Task: "copy", Host: "b",
				Message: "no"}}})
		m = must[*runs.Matrix](t)(b.Insight.Matrix(t.Context(), r.ID, runs.MatrixQuery{AfterRev: m.Rev}))
		if m.Hosts != 2 || m.Same || string(m.Cells) != "\x01\x01\x04\x01" {
			t.Errorf("%+v", m)
		}
		if g := must[[]runs.FailureGroup](t)(b.Insight.Failures(t.Context(), r.ID)); len(g) != 1 || g[0].Hosts[0] != "b" {
			t.Errorf("%+v", g)
		}
		hits := must[*runs.LogHits](t)(b.Insight.Find(t.Context(), r.ID, runs.LogQuery{Text: "LOST"}))
		if hits.Total != 1 || hits.Hits[0] != (runs.LogHit{Line: 2, Offset: 4, Text: "is lost"}) {
			t.Errorf("%+v", hits)
		}
		why = must[*runs.Explanation](t)(b.Insight.Why(t.Context(), r.ID))
		if why.State != runs.Failed || why.Reasons[0].Text != "boom" {
			t.Errorf("%+v", why)
		}
		if _, err := b.Insight.Why(t.Context(), "run_none"); !runs.RunNotFound.Is(err) {
			t.Errorf("unknown: %v", err)
		}
	})
}

// BenchmarkTrivialRun measures the work of the control plane for one short run, without the process itself.
func BenchmarkTrivialRun(b *testing.B) {
	d := dbtest.Open(b, db.SQLite, migrations.FS)
	w := setup(b, d, module.Config{})
	for b.Loop() {
		w.submit(script())
		a := w.claim()
		w.begin(a)
		now := clock.New().Now()
		w.finish(a, runs.Ending{Status: runs.Succeeded, Log: runs.LogChunk{Data: []byte("ok\n")}, LogBytes: 3,
			StartedAt: now.Add(-time.Millisecond), EndedAt: now})
	}
}
