package execution

import (
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module is the module of a server: it runs an executor while the application runs, reports it to the fleet, and
// provides the fleet and the relay. When the application stops, the claims of relay workers end before the executor
// drains. The application's stop timeout must be longer than the drain time, the kill grace and ten seconds together.
var Module = fx.Module("execution",
	fx.Provide(
		fx.Annotate(NewFleet, fx.As(new(execution.Fleet))),
		fx.Annotate(NewQueues, fx.As(new(execution.Queues))),
		newWorkerTokens, newGate,
		fx.Annotate(NewRelay, fx.As(fx.Self()), fx.As(new(execution.Relay)), fx.As(new(execution.RelayJournal)),
			fx.As(new(execution.RelayMaterials)), fx.As(new(execution.RelayWorks))),
	),
	fx.Invoke(run, endWaits),
)

// WorkerModule is the module of a worker process over the database: it runs an executor as Module does and reports it
// to the fleet.
var WorkerModule = fx.Module("execution", fx.Invoke(run))

// RelayWorkerModule is the module of a worker process without a database: it runs an executor as Module does against
// the provided control plane, which reports it to the fleet.
var RelayWorkerModule = fx.Module("execution", fx.Invoke(execute))

// Params are the dependencies of an executor. Live, Signals and Log may be nil: nothing is shown before it is stored,
// runs are found by polling, and nothing is logged.
type Params struct {
	fx.In

	Plane  execution.ControlPlane
	Tools  execution.Tools
	Reaper execution.Reaper
	// Boundary keeps the runs apart; nil keeps nothing apart.
	Boundary execution.Boundary `optional:"true"`
	// Materials provides projects and inventories; nil: a run that names one fails here.
	Materials catalog.Materials `optional:"true"`
	// Secrets provides the secrets of the runs' credentials; nil: a run that names a credential fails here. Agents
	// serves the private keys among them; nil: a run whose credentials contain a key fails here.
	Secrets secrets.Provider `optional:"true"`
	Agents  secrets.Agents   `optional:"true"`
	// Redactor hides secrets in the records of runs; nil for an executor over a relay, whose server does that.
	Redactor runs.Redactor  `optional:"true"`
	Live     runs.Live      `optional:"true"`
	Signals  events.Signals `optional:"true"`
	Clock    clock.Clock
	Log      *slog.Logger `optional:"true"`
	Config   Config
	Observer background.Observer `optional:"true"`
}

// RelayParams are the dependencies of a relay.
type RelayParams struct {
	fx.In

	Plane  execution.ControlPlane
	Claims execution.ClaimStore
	// Tokens stores the tokens of workers. Guard and Rights know which queues carry grants.
	Tokens execution.WorkerTokenStore
	Guard  access.Guard
	Rights identity.VersionStore
	// ClaimSecrets stores what masks the reports of claims, sealed by Sealer.
	ClaimSecrets execution.ClaimSecretStore
	Sealer       secrets.Sealer
	Workers      execution.WorkerStore
	// The relay reads runs to validate the reports of workers.
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
	// Secrets provides the secrets of the runs' credentials; nil: a run that names a credential fails.
	Secrets secrets.Provider `optional:"true"`
	// Redactor hides secrets in the records of runs.
	Redactor runs.Redactor
	// Materials provides projects and inventories; nil: none are available.
	Materials catalog.Materials `optional:"true"`
	// Requirements are those that workers install; nil: none.
	Requirements catalog.Requirements `optional:"true"`
	// Refreshes are the work beside runs; nil: there is none. RefreshQueue stores its claims.
	Refreshes    catalog.Refreshes    `optional:"true"`
	RefreshQueue catalog.RefreshQueue `optional:"true"`
	// Heads receives and returns signed heads; nil: there are none.
	Heads audit.Heads `optional:"true"`
	// Signals report waiting runs; nil: the relay polls for them each second.
	Signals events.Signals `optional:"true"`
	Unit    tx.Unit
	Clock   clock.Clock
	Log     *slog.Logger `optional:"true"`
	Config  Config
}

// QueueParams are the dependencies of the list of queues.
type QueueParams struct {
	fx.In

	Store   execution.QueueStore
	Workers execution.WorkerStore
	Runs    runs.Store
	// Objects lists the queues that have grants.
	Objects identity.ObjectStore
	Guard   access.Guard
	// Limits keeps how many runs of a queue have a slot at a time; nil keeps no limits.
	Limits   runs.Limits `optional:"true"`
	Recorder audit.Recorder
	Unit     tx.Unit
	Log      *slog.Logger
}

// TokenParams are the dependencies of the tokens of workers.
type TokenParams struct {
	fx.In

	Tokens   execution.WorkerTokenStore
	Recorder audit.Recorder
	Signals  events.Signals
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
}

func newWorkerTokens(p TokenParams) execution.WorkerTokens {
	return admission.NewTokens(admission.Deps{Store: p.Tokens, Unit: p.Unit, Recorder: p.Recorder, Signals: p.Signals,
		Clock: p.Clock, IDs: p.IDs, Log: p.Log})
}

// newGate returns what recognizes workers by their own tokens. It decides about no queue.
func newGate(t execution.WorkerTokenStore, c clock.Clock) execution.WorkerGate {
	return admission.NewGate(t, admission.Rights{}, c, nil)
}

// execute makes an executor that starts and stops with the application.
func execute(life fx.Lifecycle, p Params) error {
	x, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(x.Start, x.Stop))
	}
	return err
}

// run makes an executor that also reports itself to the fleet.
func run(life fx.Lifecycle, p Params, workers execution.WorkerStore, unit tx.Unit) error {
	x, err := New(p)
	if err != nil {
		return err
	}
	reports := newReports(workers, unit, x.log, x.self)
	reports.Observer = p.Observer
	life.Append(fx.StartStopHook(x.Start, x.Stop))
	life.Append(fx.StartStopHook(reports.Start, reports.Stop))
	return nil
}

// relayOf provides the relay of an application that has its dependencies.
type relayOf struct {
	fx.In

	Relay    *Relay              `optional:"true"`
	Log      *slog.Logger        `optional:"true"`
	Observer background.Observer `optional:"true"`
}

// endWaits removes what an earlier process of the relay left, and ends the relay's waits before their dependencies
// stop.
func endWaits(life fx.Lifecycle, in relayOf) {
	if in.Relay == nil {
		return
	}
	forget := &background.Loop{Name: "relay secrets", Pass: in.Relay.Masks.Forget, Every: forgetEvery,
		Timeout: time.Minute, Log: in.Log, Observer: in.Observer}
	life.Append(fx.StartStopHook(forget.Start, forget.Stop))
	life.Append(fx.StartStopHook(in.Relay.Sweep, in.Relay.Close))
}

// forgetEvery is how often the secrets of claims that did not end properly are deleted.
const forgetEvery = 5 * time.Minute
