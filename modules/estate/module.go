package estate

import (
	"cmp"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/estate/internal/changes"
	"github.com/writ-automation/writ/modules/estate/internal/hosts"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the ports of the context and runs its background work with the application. It has two constructors,
// because requests for runs select hosts, and the rest of this context needs runs.
var Module = fx.Module("estate", fx.Provide(New, NewQueries), fx.Invoke(func(life fx.Lifecycle, b Background) {
	life.Append(fx.StartStopHook(b.Start, b.Stop))
}))

// Config are the settings of the context.
type Config struct {
	// ReadOnly stores and deletes nothing.
	ReadOnly bool
	// VolatileFacts are further patterns of keys like those of estate.VolatileFacts.
	VolatileFacts []string
	// RetainHistory is how many results are kept of each host. Fewer than estate.MinHistory are raised to it.
	RetainHistory int
}

// Params are the dependencies of New. Log may be nil.
type Params struct {
	fx.In

	Config    Config
	Gathered  runs.FactQueue
	Facts     estate.FactStore
	Runs      runs.Store
	Summaries runs.SummaryStore
	Events    runs.EventStore
	Reader    runs.Reader
	Changes   estate.ChangeStore
	Fleet     estate.FleetStore
	Drift     estate.DriftStore
	Ignores   estate.IgnoreStore
	Plans     runs.PlanStore
	Targets   runs.PlanTargets
	// Templates and Projects have the names of what plans are about. They may be nil.
	Templates catalog.TemplateStore `optional:"true"`
	Projects  catalog.ProjectStore  `optional:"true"`
	// Inventories has the hosts of stored inventories. It may be nil.
	Inventories catalog.References `optional:"true"`
	// Reconciler makes the runs that repair drift.
	Reconciler runs.Reconciler
	Licenses   system.Licenses
	// Guard decides what callers may read.
	Guard access.Guard
	// Recorder records each change in its unit of work.
	Recorder  audit.Recorder
	Unit      tx.Unit
	Signals   events.Signals
	Publisher events.Publisher
	Clock     clock.Clock
	IDs       ids.Generator
	Log       *slog.Logger
	Observer  background.Observer `optional:"true"`
}

// Result holds the ports of the context. The caller starts Background.
type Result struct {
	fx.Out

	Changes    estate.Changes
	Estate     estate.Estate
	Fleet      estate.Fleet
	Reported   events.Subscription `group:"events.subscriptions"`
	Drift      estate.Drift
	Ignores    estate.Ignores
	Drifted    events.Subscription `group:"events.subscriptions"`
	Planned    events.Subscription `group:"events.subscriptions"`
	Background Background
}

// QueryParams are the dependencies of NewQueries.
type QueryParams struct {
	fx.In

	Facts       estate.FactStore
	Inventories catalog.References
	Guard       access.Guard
	Clock       clock.Clock
}

// NewQueries creates the part of the context that does not need runs.
func NewQueries(p QueryParams) estate.HostQueries {
	return &hosts.Queries{Facts: p.Facts, Inventories: p.Inventories, Guard: p.Guard, Clock: p.Clock}
}

// Background stores what runs found, and deletes what is kept long enough.
type Background struct{ background.Group }

// New creates the context and starts nothing.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("estate: changes need a recorder")
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	facts, work, err := newFacts(p, parse)
	if err != nil {
		return Result{}, err
	}
	fleet, reported, trimming := newFleet(&p)
	work = append(work, trimming...)
	for _, l := range work {
		l.Log, l.Observer = p.Log, p.Observer
	}
	drift, ignores, consumer := driftPart(&p)
	return Result{Estate: facts, Fleet: fleet, Reported: reported, Drift: drift, Ignores: ignores,
		Drifted: consumer.Subscription(), Planned: consumer.PlanSubscription(),
		Changes: changes.New(p.Changes, p.Reader, p.Guard), Background: Background{work}}, nil
}
