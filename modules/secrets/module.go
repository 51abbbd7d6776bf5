package secrets

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Config of the context.
type Config struct {
	// ReadOnly leaves minted secrets that were left behind to other processes.
	ReadOnly bool
}

// Module provides the driving ports of the context and what credentials give to others, and revokes minted secrets while the application
// runs. It has two constructors, so that the context of runs can be made between them: it asks for References and is asked by the keepers.
var Module = fx.Module("secrets", fx.Provide(provideGiving, provideKeeping))

type kernelParams struct {
	fx.In

	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

type storeParams struct {
	fx.In

	Credentials secrets.Store
	Types       secrets.TypeStore
	Sealer      secrets.Sealer
	Keys        secrets.KeyReader
	Engines     map[string]extension.Engine
}

type givingResults struct {
	fx.Out

	Provider   secrets.Provider
	References secrets.References
	Logins     catalog.Logins
}

func provideGiving(life fx.Lifecycle, k kernelParams, s storeParams, leases secrets.LeaseStore, c Config) (givingResults, error) {
	p, err := NewProviding(ProvidingParams{
		ProvidingStores: ProvidingStores{s.Credentials, s.Types, leases}, ProvidingKernel: ProvidingKernel{k.Unit, k.Clock, k.IDs, k.Log},
		Sealer: s.Sealer, Keys: s.Keys, Engines: s.Engines, ReadOnly: c.ReadOnly,
	})
	if err != nil {
		return givingResults{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { p.Background.Start(); return nil },
		OnStop:  p.Background.Stop,
	})
	return givingResults{Provider: p.Provider, References: p.References, Logins: p.Logins}, nil
}

type rightParams struct {
	fx.In

	Recorder audit.Recorder
	Objects  identity.Objects
	Guard    access.Guard
	Owners   access.Owners
	Usage    catalog.Usage
	Runs     runs.ObjectStore
}

type keepingResults struct {
	fx.Out

	Credentials secrets.Credentials
	Types       secrets.Types
}

func provideKeeping(k kernelParams, s storeParams, r rightParams) (keepingResults, error) {
	kept, err := NewKeeper(KeeperParams{
		Unit: k.Unit, Clock: k.Clock, IDs: k.IDs, Log: k.Log, Recorder: r.Recorder, Store: s.Credentials, Types: s.Types, Sealer: s.Sealer,
		Keys: s.Keys, Engines: s.Engines, Objects: r.Objects, Guard: r.Guard, Owners: r.Owners, Usage: r.Usage, Runs: r.Runs,
	})
	if err != nil {
		return keepingResults{}, err
	}
	return keepingResults{Credentials: kept.Credentials, Types: kept.Types}, nil
}
