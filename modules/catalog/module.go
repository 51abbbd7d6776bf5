package catalog

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the driving ports of this context and runs its background work with the application. It has two constructors, so that
// the context of runs can be made between them: it asks for References and is asked by the Launcher.
var Module = fx.Module("catalog", fx.Provide(provideMaterials, provide))

type storeParams struct {
	fx.In

	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	Usage       catalog.Usage
}

type kernelParams struct {
	fx.In

	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

type materialParams struct {
	fx.In

	Checkouts catalog.Checkouts
	Collector catalog.Collector
	Recorder  audit.Recorder
	Sealer    secrets.Sealer
	Logins    catalog.Logins `optional:"true"`
	Config    Config
}

type materialResults struct {
	fx.Out

	Parts      *Materials
	References catalog.References
	Materials  catalog.Materials
}

func provideMaterials(life fx.Lifecycle, s storeParams, k kernelParams, o materialParams) (materialResults, error) {
	m, err := NewMaterials(MaterialParams{
		Stores:    Stores{s.Projects, s.Inventories, s.Sources, s.Templates, s.Usage},
		Kernel:    Kernel{k.Unit, k.Clock, k.IDs, k.Log},
		Checkouts: o.Checkouts, Collector: o.Collector, Recorder: o.Recorder, Sealer: o.Sealer, Logins: o.Logins, Config: o.Config,
	})
	if err != nil {
		return materialResults{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { m.Background.Start(); return nil },
		OnStop:  m.Background.Stop,
	})
	return materialResults{Parts: m, References: m.References, Materials: m.Materials}, nil
}

type ownParams struct {
	fx.In

	Materials *Materials
	Objects   identity.Objects
	Guard     access.Guard
	Owners    access.Owners
	Submitter runs.Submitter
	Checker   runs.Checker
	Runs      runs.ObjectStore
	Targets   notify.Targets
}

type results struct {
	fx.Out

	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
}

func provide(o ownParams) (results, error) {
	r, err := New(Params{
		Materials: o.Materials, Objects: o.Objects, Guard: o.Guard, Owners: o.Owners, Submitter: o.Submitter, Checker: o.Checker, Runs: o.Runs,
		Targets: o.Targets,
	})
	if err != nil {
		return results{}, err
	}
	return results{
		Projects: r.Projects, Inventories: r.Inventories, Sources: r.Sources, Templates: r.Templates, Launcher: r.Launcher,
	}, nil
}
