package secrets

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/secrets/internal/credentials"
	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/modules/secrets/internal/login"
	"github.com/writ-automation/writ/modules/secrets/internal/provide"
	"github.com/writ-automation/writ/modules/secrets/internal/references"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Config of the context.
type Config struct {
	// ReadOnly leaves minted secrets that were left behind to other processes.
	ReadOnly bool
}

// Module provides the driving ports of the context and what credentials give to others, and revokes minted secrets
// while the application runs. It has two constructors, so that the context of runs can be made between them: that
// asks for References and is asked by New.
var Module = fx.Module("secrets", fx.Provide(provideProvider, New))

// ProviderParams is what the part of the context is made of that opens credentials. Log may be nil.
type ProviderParams struct {
	fx.In

	Credentials secrets.Store
	Types       secrets.TypeStore
	Leases      secrets.LeaseStore
	Sealer      secrets.Sealer
	Keys        secrets.KeyReader
	// Engines are the secret engines by name, those that are built in and those of extensions.
	Engines  map[string]extension.Engine
	Config   Config
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Observer background.Observer `optional:"true"`
}

// ProviderResult is what that part provides. Background has to be started, and stopped after everything that asks the
// provider.
type ProviderResult struct {
	fx.Out

	Provider   secrets.Provider
	References secrets.References
	Logins     catalog.Logins
	Background *Background
}

func provideProvider(life fx.Lifecycle, p ProviderParams) (ProviderResult, error) {
	r, err := NewProvider(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// NewProvider makes the part of the context that opens credentials, and starts nothing.
func NewProvider(p ProviderParams) (ProviderResult, error) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	calls := lease.NewCalls()
	ledger := lease.New(lease.Params{
		Store: p.Leases, Sealer: p.Sealer, Engines: p.Engines, Calls: calls, Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log,
	})
	provider := provide.New(provide.Params{
		Store: p.Credentials, Types: p.Types, Sealer: p.Sealer, Keys: p.Keys, Engines: p.Engines, Ledger: ledger, Calls: calls,
	})
	work := ledger.Work(!p.Config.ReadOnly)
	for _, l := range work {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return ProviderResult{
		Provider:   provider,
		References: references.New(p.Credentials, p.Sealer),
		Logins:     login.New(provider, ledger),
		Background: &Background{Group: work, leases: ledger},
	}, nil
}

// Background renews minted secrets as long as their runs last, and revokes those whose owners are done with them and
// did not give them back, at its start and every ten seconds. A lease is tried ten times, about five minutes apart;
// then it is forgotten, an error is logged, and the secret ends on its engine's time to live. A process that only
// reads renews what its own runs have, and revokes nothing of others.
type Background struct {
	background.Group
	leases *lease.Ledger
}

// Stop ends the work, revokes what nobody else could, and returns when no engine is asked any more, or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	if err := b.Group.Stop(ctx); err != nil {
		return err
	}
	return b.leases.End(ctx)
}

// Params is what the rest of the context is made of. Log may be nil.
type Params struct {
	fx.In

	Store  secrets.Store
	Types  secrets.TypeStore
	Sealer secrets.Sealer
	// Keys validates private keys before they are stored.
	Keys secrets.KeyReader
	// Engines are the secret engines by name, those of extensions among them. They are asked for the form of configs and
	// for nothing else.
	Engines map[string]extension.Engine
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	// Objects is told of each credential, since it can carry grants.
	Objects identity.Objects
	// Guard and Owners decide for the callers.
	Guard  access.Guard
	Owners access.Owners
	// Usage and Runs tell what needs a credential.
	Usage object.Usage
	Runs  runs.ObjectStore
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

// Result is the driving side of the context.
type Result struct {
	fx.Out

	Credentials secrets.Credentials
	Types       secrets.Types
}

// New makes the driving side of the context.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("secrets: changes need a recorder")
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	k := object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder, Objects: p.Objects}
	permissions := &object.Permissions{Guard: p.Guard, Owners: p.Owners, Usage: p.Usage, Runs: p.Runs}
	return Result{
		Credentials: credentials.NewCredentials(k, permissions, p.Store, p.Types, p.Sealer, p.Keys, maps.Clone(p.Engines)),
		Types:       credentials.NewTypes(k, permissions, p.Types, p.Store),
	}, nil
}
