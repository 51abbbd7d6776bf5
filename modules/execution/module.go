package execution

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution/internal/presence"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module is that of a server: it runs an executor for the life of the application, tells the fleet of it, and provides the fleet and the
// relay. When the application stops, the relay's workers wait for no more runs before the executor drains. The application's stop timeout
// must be longer than the drain time, the kill grace and ten seconds together.
var Module = fx.Module("execution",
	fx.Provide(
		fx.Annotate(NewFleet, fx.As(new(execution.Fleet))),
		fx.Annotate(newRelay, fx.As(fx.Self()), fx.As(new(execution.Relay)), fx.As(new(execution.RelayJournal)), fx.As(new(execution.RelayMaterials))),
	),
	fx.Invoke(run, endWaits),
)

// WorkerModule is that of a worker process over the database: it runs an executor as Module does and tells the fleet of it.
var WorkerModule = fx.Module("execution", fx.Invoke(run))

// RelayWorkerModule is that of a worker process without a database: it runs an executor as Module does against whatever control plane it is
// given, which tells the fleet of it.
var RelayWorkerModule = fx.Module("execution", fx.Invoke(execute))

type inputs struct {
	fx.In

	Plane     execution.ControlPlane
	Tools     execution.Tools
	Reaper    execution.Reaper
	Materials catalog.Materials `optional:"true"`
	Secrets   secrets.Provider  `optional:"true"`
	Agents    secrets.Agents    `optional:"true"`
	Live      runs.Live         `optional:"true"`
	Signals   events.Signals    `optional:"true"`
	Clock     clock.Clock
	Log       *slog.Logger `optional:"true"`
	Config    Config
}

// executor makes one that starts and stops with the application.
func executor(lc fx.Lifecycle, in inputs) (*Executor, error) {
	x, err := New(Params{
		Plane: in.Plane, Tools: in.Tools, Reaper: in.Reaper, Materials: in.Materials, Secrets: in.Secrets, Agents: in.Agents,
		Live: in.Live, Signals: in.Signals, Clock: in.Clock, Log: in.Log, Config: in.Config,
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{OnStart: x.Start, OnStop: x.Stop})
	return x, nil
}

func execute(lc fx.Lifecycle, in inputs) error {
	_, err := executor(lc, in)
	return err
}

func run(lc fx.Lifecycle, in inputs, workers execution.WorkerStore, unit tx.Unit) error {
	x, err := executor(lc, in)
	if err != nil {
		return err
	}
	here := presence.New(workers, unit, x.log, x.self)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { here.Start(); return nil },
		OnStop:  func(context.Context) error { here.Stop(); return nil },
	})
	return nil
}

type relayInputs struct {
	fx.In

	Plane   execution.ControlPlane
	Records relayRecords
	Claims  execution.ClaimStore
	Workers execution.WorkerStore

	Materials catalog.Materials `optional:"true"`
	Secrets   secrets.Provider  `optional:"true"`
	Heads     audit.Heads       `optional:"true"`
	Signals   events.Signals    `optional:"true"`
	Unit      tx.Unit
	Clock     clock.Clock
	Log       *slog.Logger `optional:"true"`
	Config    Config
}

type relayRecords struct {
	fx.In

	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
}

func newRelay(in relayInputs) (*Relay, error) {
	return NewRelay(RelayParams{
		Plane: in.Plane, Claims: in.Claims, Workers: in.Workers, Materials: in.Materials, Secrets: in.Secrets, Heads: in.Heads,
		Records: RelayRecords{Runs: in.Records.Runs, Events: in.Records.Events, Summaries: in.Records.Summaries},
		Signals: in.Signals, Unit: in.Unit, Clock: in.Clock, Log: in.Log, Config: in.Config,
	})
}

// relayOf is the relay of an application that has what one needs.
type relayOf struct {
	fx.In

	Relay *Relay `optional:"true"`
}

// endWaits clears up after an earlier life of the relay, and ends its waits before anything stops that they need.
func endWaits(lc fx.Lifecycle, in relayOf) {
	if in.Relay == nil {
		return
	}
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { return in.Relay.Sweep() },
		OnStop:  func(context.Context) error { in.Relay.Close(); return nil },
	})
}
