package scheduling

import (
	"errors"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/desk"
	"github.com/writ-automation/writ/modules/scheduling/internal/fire"
	"github.com/writ-automation/writ/modules/scheduling/internal/hook"
	"github.com/writ-automation/writ/modules/scheduling/internal/schedule"
	"github.com/writ-automation/writ/modules/scheduling/internal/trigger"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores of the context.
type Stores struct {
	Schedules  scheduling.ScheduleStore
	Slots      scheduling.SlotStore
	Triggers   scheduling.TriggerStore
	Deliveries scheduling.DeliveryStore
}

// Neighbours are the roles of other contexts that make runs and know objects.
type Neighbours struct {
	Launcher  catalog.Launcher
	Usage     catalog.Usage
	Submitter runs.Submitter
	Checker   runs.Checker
}

// Kernel is what every context needs of the process that it lives in.
type Kernel struct {
	Unit    tx.Unit
	Clock   clock.Clock
	IDs     ids.Generator
	Log     *slog.Logger
	Signals events.Signals
	// Local is the zone of expressions that name none, nil for UTC.
	Local *time.Location
}

// Params is all that the context is made of. Every member but Config and Local is required.
type Params struct {
	Config     Config
	Stores     Stores
	Neighbours Neighbours
	Kernel
	Guard access.Guard
	Keep  access.Owners
	// Owners lets what fires act with the rights of an account.
	Owners scheduling.Owners
	Sealer scheduling.Sealer
	// Targets keeps what of notification targets is secret.
	Targets notify.Targets
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
}

// Result is what the context provides. Background has to be started.
type Result struct {
	Schedules  scheduling.Schedules
	Planner    scheduling.Planner
	Triggers   scheduling.Triggers
	Hooks      scheduling.Hooks
	Background *Background
}

// What firing is bounded by.
const (
	hold = time.Minute
	poll = 20 * time.Second
	pool = 8
)

// New makes the context and starts nothing. It returns an error where a dependency is missing, and an Invalid fault for
// settings that make no sense.
func New(p Params) (Result, error) {
	if !p.whole() {
		return Result{}, errors.New("scheduling: a dependency is missing")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	cfg, s, n := p.Config.withDefaults(), p.Stores, p.Neighbours
	kernel := desk.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	front := desk.New(p.Guard, p.Keep)
	times := schedule.Times{Local: p.Local}
	judge := schedule.Judge{Launcher: n.Launcher, Checker: n.Checker}
	engine := fire.New(s.Schedules, s.Slots, times, fire.NewLaunch(p.Owners, n.Launcher, n.Submitter), p.Signals, p.Clock, p.Log,
		fire.Settings{Topic: schedule.Topic, Catchup: cfg.Catchup, Hold: hold, Poll: poll, Pool: pool})
	return Result{
		Schedules:  schedule.New(kernel, front, s.Schedules, s.Slots, n.Usage, judge, times, p.Signals, p.Targets),
		Planner:    NewPlanner(p.Clock, p.Local),
		Triggers:   trigger.New(kernel, front, s.Triggers, n.Usage, p.Sealer),
		Hooks:      hook.New(s.Triggers, s.Deliveries, p.Sealer, p.Owners, n.Launcher, p.Log),
		Background: newBackground(engine, s, p.Log, cfg),
	}, nil
}

// whole reports whether nothing is missing.
func (p *Params) whole() bool {
	s, n := &p.Stores, &p.Neighbours
	return s.Schedules != nil && s.Slots != nil && s.Triggers != nil && s.Deliveries != nil &&
		n.Launcher != nil && n.Usage != nil && n.Submitter != nil && n.Checker != nil &&
		p.Unit != nil && p.Clock != nil && p.IDs != nil && p.Log != nil && p.Signals != nil &&
		p.Guard != nil && p.Keep != nil && p.Owners != nil && p.Sealer != nil && p.Targets != nil && p.Recorder != nil
}
