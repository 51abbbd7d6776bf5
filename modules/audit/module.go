package audit

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context. It needs a Config, the audit stores, a unit of work, a clock, ids and a
// logger; for the reporter also a runs.Reader. An audit.Licence is optional.
var Module = fx.Module("audit", fx.Provide(provide, provideProver, provideReporter))

// Upkeep runs the context's background work with the application.
var Upkeep = fx.Module("audit.upkeep", fx.Invoke(background))

// HeadCopies has a worker that reaches the database keep heads of the trail, for the life of the application. It
// needs an audit.HeadShelf and a HolderName beside what Module provides.
var HeadCopies = fx.Module("audit.holding", fx.Invoke(runHeadCopies))

// WorkerName is the name under which a worker shows the heads that it holds.
type WorkerName string

type params struct {
	fx.In

	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Tiles    audit.TileStore
	Anchors  audit.AnchorStore
	Identity audit.IdentityStore

	Unit   tx.Unit
	Clock  clock.Clock
	IDs    ids.Generator
	Log    *slog.Logger
	Config Config
}

type results struct {
	fx.Out

	Result   Result
	Recorder audit.Recorder
	Trail    audit.Trail
	Admin    audit.Admin
	Heads    audit.Heads
	Opening  *Opening
}

func provide(p params) (results, error) {
	r, err := New(Params{
		Stores: Stores{p.Chain, p.Reader, p.Tiles, p.Anchors, p.Identity},
		Kernel: Kernel{p.Unit, p.Clock, p.IDs, p.Log}, Config: p.Config,
	})
	if err != nil {
		return results{}, err
	}
	return results{Result: r, Recorder: r.Recorder, Trail: r.Trail, Admin: r.Admin, Heads: r.Heads, Opening: r.Opening}, nil
}

func provideProver(r Result, store runs.Store) audit.Prover { return NewProver(r, store) }

type reporterParams struct {
	fx.In

	Result  Result
	Runs    runs.Reader
	Prover  audit.Prover
	Licence audit.Licence `optional:"true"`
}

func provideReporter(p reporterParams) audit.Reporter {
	return NewReporter(p.Result, p.Runs, p.Prover, p.Licence)
}

func background(l fx.Lifecycle, r Result) {
	l.Append(fx.Hook{
		OnStart: func(context.Context) error { r.Background.Start(); return nil },
		OnStop:  r.Background.Stop,
	})
}

func runHeadCopies(l fx.Lifecycle, of audit.Heads, store audit.HeadStore, name WorkerName, log *slog.Logger) {
	h := NewHeadCopies(of, store, string(name), log)
	l.Append(fx.Hook{
		OnStart: func(context.Context) error { h.Start(); return nil },
		OnStop:  h.Stop,
	})
}
