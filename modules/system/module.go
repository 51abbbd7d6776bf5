package system

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides system.Health, system.Doctor, system.DeadLetters, which also stores the dead letters of the bus, and
// system.Licenses. It needs a system.Probe, a system.DeadLetterStore, an outbox, a system.LicenseSource and the kernel,
// and runs the checks in system.CheckGroup, which may be empty.
var Module = fx.Module("system", fx.Provide(
	func(p system.Probe) (system.Health, error) { return New(Params{Probe: p}) },
	fx.Annotate(provideDoctor, fx.ParamTags(``, system.CheckGroup, `optional:"true"`)),
	fx.Annotate(NewDeadLetters, fx.As(new(system.DeadLetters)), fx.As(new(events.DeadLetters))),
	fx.Annotate(provideLicenses, fx.As(new(system.Licenses)), fx.As(new(audit.Licence))),
))

// DeadLetterParams are the dependencies of DeadLetters.
type DeadLetterParams struct {
	fx.In

	Store    system.DeadLetterStore
	Unit     tx.Unit
	IDs      ids.Generator
	Outbox   events.Redeliverer
	Recorder audit.Recorder
}

// LicenseParams are the dependencies of Licenses. Log may be nil.
type LicenseParams struct {
	fx.In

	Source   system.LicenseSource
	Clock    clock.Clock
	Log      *slog.Logger
	Observer background.Observer `optional:"true"`
}

// Checks provides the checks of the catalog, of schedules, of triggers and of accounts in system.CheckGroup.
var Checks = fx.Module("system.checks", fx.Provide(
	fx.Annotate(NewCatalogCheck, fx.As(new(system.Check)), fx.ResultTags(system.CheckGroup)),
	fx.Annotate(NewScheduleCheck, fx.As(new(system.Check)), fx.ResultTags(system.CheckGroup)),
	fx.Annotate(NewAccountCheck, fx.As(new(system.Check)), fx.ResultTags(system.CheckGroup)),
	fx.Annotate(NewTriggerCheck, fx.As(new(system.Check)), fx.ResultTags(system.CheckGroup)),
	fx.Annotate(NewLicenseCheck, fx.As(new(system.Check)), fx.ResultTags(system.CheckGroup)),
))

// CatalogParams are the dependencies of CatalogCheck. Credentials may be nil: then no credential exists.
type CatalogParams struct {
	fx.In

	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	References  catalog.References
	Credentials secrets.References `optional:"true"`
	Clock       clock.Clock
}

// ScheduleParams are the dependencies of ScheduleCheck.
type ScheduleParams struct {
	fx.In

	Schedules scheduling.ScheduleStore
	Owners    scheduling.Owners
	Launcher  catalog.Launcher
}

// AccountParams are the dependencies of AccountCheck.
type AccountParams struct {
	fx.In

	Accounts identity.AccountStore
	Clock    clock.Clock
}

// TriggerParams are the dependencies of TriggerCheck. Signing secrets are sealed for the id of their trigger.
type TriggerParams struct {
	fx.In

	Triggers scheduling.TriggerStore
	Owners   scheduling.Owners
	Launcher catalog.Launcher
	Sealer   scheduling.Sealer
}

func provideLicenses(life fx.Lifecycle, p LicenseParams) (*Licenses, error) {
	l, err := NewLicenses(p)
	if err != nil {
		return nil, err
	}
	life.Append(fx.StartStopHook(l.Loop.Start, l.Loop.Stop))
	return l, nil
}

func provideDoctor(life fx.Lifecycle, checks []system.Check, log *slog.Logger) (system.Doctor, error) {
	d, err := NewDoctor(DoctorParams{Checks: checks, Log: log})
	if err != nil {
		return nil, err
	}
	life.Append(fx.StopHook(d.Close))
	return d, nil
}
