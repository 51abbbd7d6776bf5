package system

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides system.Health, system.Doctor, and system.DeadLetters, which the bus stores its events.DeadLetters in. It needs a
// system.Probe, a system.DeadLetterStore, an outbox and the kernel, and examines what is in system.CheckGroup, which may be empty.
var Module = fx.Module("system", fx.Provide(
	func(p system.Probe) (system.Health, error) { return New(Params{Probe: p}) },
	fx.Annotate(provideDoctor, fx.ParamTags(``, system.CheckGroup, `optional:"true"`)),
	fx.Annotate(provideDeadLetters, fx.As(new(system.DeadLetters)), fx.As(new(events.DeadLetters))),
))

func provideDeadLetters(
	s system.DeadLetterStore, u tx.Unit, g ids.Generator, o events.Redeliverer, r audit.Recorder,
) (*DeadLetters, error) {
	return NewDeadLetters(DeadLetterParams{Store: s, Unit: u, IDs: g, Outbox: o, Recorder: r})
}

// Checks provides the checks of the catalog, of schedules and of triggers in system.CheckGroup. It needs the stores of both contexts,
// catalog.References, catalog.Launcher, scheduling.Owners, scheduling.Sealer and a clock.Clock, and takes secrets.References where they are
// provided.
var Checks = fx.Module("system.checks", fx.Provide(
	fx.Annotate(provideCatalogCheck, fx.ResultTags(system.CheckGroup)),
	fx.Annotate(provideScheduleCheck, fx.ResultTags(system.CheckGroup)),
	fx.Annotate(provideTriggerCheck, fx.ResultTags(system.CheckGroup)),
))

func provideDoctor(life fx.Lifecycle, checks []system.Check, log *slog.Logger) (system.Doctor, error) {
	d, err := NewDoctor(DoctorParams{Checks: checks, Log: log})
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{OnStop: d.Close})
	return d, nil
}

type catalogInputs struct {
	fx.In
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	References  catalog.References
	Credentials secrets.References `optional:"true"`
	Clock       clock.Clock
}

func provideCatalogCheck(in catalogInputs) (system.Check, error) {
	return NewCatalogCheck(CatalogParams{
		Projects: in.Projects, Inventories: in.Inventories, Sources: in.Sources, Templates: in.Templates, References: in.References,
		Credentials: in.Credentials, Clock: in.Clock,
	})
}

func provideScheduleCheck(s scheduling.ScheduleStore, o scheduling.Owners, l catalog.Launcher) (system.Check, error) {
	return NewScheduleCheck(ScheduleParams{Schedules: s, Owners: o, Launcher: l})
}

func provideTriggerCheck(t scheduling.TriggerStore, o scheduling.Owners, l catalog.Launcher, s scheduling.Sealer) (system.Check, error) {
	return NewTriggerCheck(TriggerParams{Triggers: t, Owners: o, Launcher: l, Sealer: s})
}
