package execution

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution/internal/presence"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module is that of a server: it runs an executor for the life of the application, tells the fleet of it, and
// provides the fleet and the relay. When the application stops, the relay's workers wait for no more runs before the
// executor drains. The application's stop timeout must be longer than the drain time, the kill grace and ten seconds
// together.
var Module = fx.Module("execution",
	fx.Provide(
		fx.Annotate(NewFleet, fx.As(new(execution.Fleet))),
		fx.Annotate(NewRelay, fx.As(fx.Self()), fx.As(new(execution.Relay)), fx.As(new(execution.RelayJournal)), fx.As(new(execution.RelayMaterials))),
	),
	fx.Invoke(run, endWaits),
)

// WorkerModule is that of a worker process over the database: it runs an executor as Module does and tells the fleet
// of it.
var WorkerModule = fx.Module("execution", fx.Invoke(run))

// RelayWorkerModule is that of a worker process without a database: it runs an executor as Module does against
// whatever control plane it is given, which tells the fleet of it.
var RelayWorkerModule = fx.Module("execution", fx.Invoke(execute))

// Params is what an executor works with. Live, Signals and Log may be nil: nothing is shown before it is stored,
// runs are found by polling, and nothing is logged.
type Params struct {
	fx.In

	Plane  execution.ControlPlane
	Tools  execution.Tools
	Reaper execution.Reaper
	// Materials gives what runs name; nil: a run that names a project or an inventory fails here.
	Materials catalog.Materials `optional:"true"`
	// Secrets gives what the credentials of runs open; nil: a run that names one fails here. Agents serves the private
	// keys among them; nil: a run whose credentials hold one fails here.
	Secrets  secrets.Provider `optional:"true"`
	Agents   secrets.Agents   `optional:"true"`
	Live     runs.Live        `optional:"true"`
	Signals  events.Signals   `optional:"true"`
	Clock    clock.Clock
	Log      *slog.Logger `optional:"true"`
	Config   Config
	Observer background.Observer `optional:"true"`
}

// RelayParams is what a relay works with.
type RelayParams struct {
	fx.In

	Plane   execution.ControlPlane
	Claims  execution.ClaimStore
	Workers execution.WorkerStore
	// What the relay reads of runs to validate what workers report.
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
	// Secrets gives what the credentials of runs open; nil: a run that names one fails.
	Secrets secrets.Provider `optional:"true"`
	// Materials gives what runs name; nil: there is nothing of it.
	Materials catalog.Materials `optional:"true"`
	// Heads takes and gives signed heads; nil: there are none.
	Heads audit.Heads `optional:"true"`
	// Signals tell of runs that wait; nil: they are looked for each second.
	Signals events.Signals `optional:"true"`
	Unit    tx.Unit
	Clock   clock.Clock
	Log     *slog.Logger `optional:"true"`
	Config  Config
}

// execute makes an executor that starts and stops with the application.
func execute(life fx.Lifecycle, p Params) error {
	x, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(x.Start, x.Stop))
	}
	return err
}

// run makes one that also reports itself to the fleet.
func run(life fx.Lifecycle, p Params, workers execution.WorkerStore, unit tx.Unit) error {
	x, err := New(p)
	if err != nil {
		return err
	}
	reports := presence.New(workers, unit, x.log, x.self)
	reports.Observer = p.Observer
	life.Append(fx.StartStopHook(x.Start, x.Stop))
	life.Append(fx.StartStopHook(reports.Start, reports.Stop))
	return nil
}

// relayOf is the relay of an application that has what one needs.
type relayOf struct {
	fx.In

	Relay *Relay `optional:"true"`
}

// endWaits clears up after an earlier life of the relay, and ends its waits before anything stops that they need.
func endWaits(life fx.Lifecycle, in relayOf) {
	if in.Relay == nil {
		return
	}
	life.Append(fx.StartStopHook(in.Relay.Sweep, in.Relay.Close))
}
