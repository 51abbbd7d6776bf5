package scheduling

import (
	"errors"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/scheduling/internal/fire"
	"github.com/writ-automation/writ/modules/scheduling/internal/hook"
	"github.com/writ-automation/writ/modules/scheduling/internal/schedule"
	"github.com/writ-automation/writ/modules/scheduling/internal/trigger"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context and runs its background work with the application.
var Module = fx.Module("scheduling", fx.Provide(provide))

// Params are the dependencies of the context.
type Params struct {
	fx.In

	Config     Config
	Schedules  scheduling.ScheduleStore
	Slots      scheduling.SlotStore
	Triggers   scheduling.TriggerStore
	Deliveries scheduling.DeliveryStore
	// The ports of other contexts that create runs and store objects.
	Launcher  catalog.Launcher
	Usage     object.Usage
	Submitter runs.Submitter
	Checker   runs.Checker
	Runs      runs.Reader
	// Guard and Rights decide about the callers.
	Guard  access.Guard
	Rights access.Owners
	// Owners returns contexts with the rights of an account.
	Owners scheduling.Owners
	Sealer scheduling.Sealer
	// Targets seals the secret parts of notification targets.
	Targets notify.Targets
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Signals  events.Signals
	// Local is the zone of expressions without one, nil for UTC.
	Local    *time.Location
	Observer background.Observer `optional:"true"`
}

// Result holds the ports of the context. The caller starts Background.
type Result struct {
	fx.Out

	Schedules  scheduling.Schedules
	Planner    scheduling.Planner
	Triggers   scheduling.Triggers
	Hooks      scheduling.Hooks
	Background Background
}

func provide(life fx.Lifecycle, p Params) (Result, error) {
	r, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// The limits of firing.
const (
	leaseTime = time.Minute
	poll      = 20 * time.Second
	pool      = 8
)

// New creates the context and starts nothing. It returns an Invalid fault for invalid settings.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("scheduling: changes need a recorder")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	cfg := p.Config.withDefaults()
	kernel := object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	permissions := &object.Permissions{Guard: p.Guard, Owners: p.Rights, Usage: p.Usage}
	times := schedule.Times{Local: p.Local}
	checker := schedule.TargetChecker{Launcher: p.Launcher, Checker: p.Checker}
	engine := fire.New(p.Schedules, p.Slots, times, fire.NewLaunch(p.Owners, p.Launcher, p.Submitter), p.Runs,
		p.Signals, p.Clock, p.Log,
		fire.Settings{Topic: schedule.Topic, Catchup: cfg.Catchup, LeaseTime: leaseTime, Poll: poll, Pool: pool})
	work := Background{tidy: tidy{p.Slots, p.Deliveries}}
	if !cfg.ReadOnly {
		work.Group = background.Group{engine.Loop, work.tidy.loop()}
	}
	for _, l := range work.Group {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return Result{
		Schedules:  schedule.New(kernel, permissions, p.Schedules, p.Slots, checker, times, p.Signals, p.Targets),
		Planner:    NewPlanner(p.Clock, p.Local),
		Triggers:   trigger.New(kernel, permissions, p.Triggers, p.Deliveries, p.Sealer),
		Hooks:      hook.New(p.Triggers, p.Deliveries, p.Sealer, p.Owners, p.Launcher, p.Clock, p.Log),
		Background: work,
	}, nil
}
