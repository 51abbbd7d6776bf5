package secrets

import (
	"cmp"
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

// Module provides the driving ports of the context and the provider for other contexts, and revokes minted secrets
// while the application runs. It has two constructors, so that the context of runs can be constructed between them:
// runs need References, and New needs runs.
var Module = fx.Module("secrets", fx.Provide(provideProvider, New))

// ProviderParams are the dependencies of NewProvider. Log may be nil.
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

// ProviderResult is what NewProvider provides. Background has to be started, and stopped after everything that calls
// the provider.
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

// NewProvider constructs the part of the context that opens credentials. It starts nothing.
func NewProvider(p ProviderParams) (ProviderResult, error) {
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	calls := lease.NewCalls()
	ledger := lease.New(lease.Params{
		Store: p.Leases, Sealer: p.Sealer, Engines: p.Engines, Calls: calls, Unit: p.Unit, Clock: p.Clock, IDs: p.IDs,
		Log: p.Log,
	})
	provider := provide.New(provide.Params{
		Store: p.Credentials, Types: p.Types, Sealer: p.Sealer, Keys: p.Keys, Engines: p.Engines, Ledger: ledger,
		Calls: calls,
	})
	work := ledger.Work(!p.Config.ReadOnly)
	for _, l := range work {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return ProviderResult{
		Provider:   provider,
		References: references.New(p.Credentials, p.Types, p.Sealer),
		Logins:     login.New(provider, ledger),
		Background: &Background{Group: work, leases: ledger},
	}, nil
}

// Background renews minted secrets while their runs last. At its start and every ten seconds, it revokes secrets whose
// owners are done and did not release them. It tries a lease ten times, about five minutes apart; then it deletes it
// and logs an error, and the secret ends with the engine's time to live. A read-only process renews the secrets of its
// own runs and revokes none of other processes.
type Background struct {
	background.Group
	leases *lease.Ledger
}

// Stop ends the work and revokes what only this process can revoke. It returns when no engine call is running any more,
// or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	if err := b.Group.Stop(ctx); err != nil {
		return err
	}
	return b.leases.End(ctx)
}

// Params are the dependencies of New. Log may be nil.
type Params struct {
	fx.In

	Store  secrets.Store
	Types  secrets.TypeStore
	Sealer secrets.Sealer
	// Keys validates private keys before they are stored.
	Keys secrets.KeyReader
	// Engines are the secret engines by name, including those of extensions. New only needs the form of their configs.
	Engines map[string]extension.Engine
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	// Objects is notified of each credential, since a credential can have grants.
	Objects identity.Objects
	// Guard and Owners decide for the callers.
	Guard  access.Guard
	Owners access.Owners
	// Usage and Runs report which objects and runs reference a credential.
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

// New constructs the driving side of the context.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("secrets: changes need a recorder")
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	k := object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder, Objects: p.Objects}
	permissions := &object.Permissions{Guard: p.Guard, Owners: p.Owners, Usage: p.Usage, Runs: p.Runs}
	return Result{
		Credentials: credentials.NewCredentials(k, permissions, p.Store, p.Types, p.Sealer, p.Keys, maps.Clone(p.Engines)),
		Types:       credentials.NewTypes(k, permissions, p.Types, p.Store),
	}, nil
}
