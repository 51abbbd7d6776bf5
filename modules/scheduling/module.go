package scheduling

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/fx"

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

// Module provides the roles of the context and runs its background work with the application. It needs a Config, the scheduling
// stores, a launcher, the usage of objects, a submitter, a checker, a guard, both sorts of owners, a sealer, a recorder, a unit of work,
// signals, a clock, ids, a logger and the server's *time.Location.
var Module = fx.Module("scheduling", fx.Provide(provide))

type storeParams struct {
	fx.In

	Schedules  scheduling.ScheduleStore
	Slots      scheduling.SlotStore
	Triggers   scheduling.TriggerStore
	Deliveries scheduling.DeliveryStore
}

type neighbourParams struct {
	fx.In

	Launcher  catalog.Launcher
	Usage     catalog.Usage
	Submitter runs.Submitter
	Checker   runs.Checker
}

type ownParams struct {
	fx.In

	Config   Config
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Signals  events.Signals
	Local    *time.Location
	Guard    access.Guard
	Keep     access.Owners
	Owners   scheduling.Owners
	Sealer   scheduling.Sealer
	Targets  notify.Targets
	Recorder audit.Recorder
}

type results struct {
	fx.Out

	Schedules scheduling.Schedules
	Planner   scheduling.Planner
	Triggers  scheduling.Triggers
	Hooks     scheduling.Hooks
}

func provide(life fx.Lifecycle, s storeParams, n neighbourParams, o ownParams) (results, error) {
	res, err := New(Params{
		Config: o.Config, Stores: Stores{s.Schedules, s.Slots, s.Triggers, s.Deliveries},
		Neighbours: Neighbours{n.Launcher, n.Usage, n.Submitter, n.Checker},
		Kernel:     Kernel{o.Unit, o.Clock, o.IDs, o.Log, o.Signals, o.Local},
		Guard:      o.Guard, Keep: o.Keep, Owners: o.Owners, Sealer: o.Sealer, Targets: o.Targets, Recorder: o.Recorder,
	})
	if err != nil {
		return results{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { res.Background.Start(); return nil },
		OnStop:  res.Background.Stop,
	})
	return results{Schedules: res.Schedules, Planner: res.Planner, Triggers: res.Triggers, Hooks: res.Hooks}, nil
}
