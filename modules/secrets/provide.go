package secrets

import (
	"context"
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/secrets/internal/judge"
	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/modules/secrets/internal/login"
	"github.com/writ-automation/writ/modules/secrets/internal/provide"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// ProvidingStores are where the credentials are that are provided, and what was minted for them.
type ProvidingStores struct {
	Credentials secrets.Store
	Types       secrets.TypeStore
	Leases      secrets.LeaseStore
}

// ProvidingKernel is what it needs of the process that it lives in.
type ProvidingKernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

// ProvidingParams is what the part of the context is made of that gives what credentials hold. Every member but Engines, Log and ReadOnly
// is required.
type ProvidingParams struct {
	ProvidingStores
	ProvidingKernel
	Sealer secrets.Sealer
	Keys   secrets.KeyReader
	// Engines are the secret engines by name, those that are built in and those of extensions.
	Engines map[string]extension.Engine
	// ReadOnly leaves minted secrets that were left behind to other processes.
	ReadOnly bool
}

// Providing is that part. Background has to be started, and stopped after everybody who is provided.
type Providing struct {
	Provider   secrets.Provider
	References secrets.References
	Logins     catalog.Logins
	Background *Background
}

// NewProviding makes it and starts nothing. It returns an error where a dependency is missing.
func NewProviding(p ProvidingParams) (*Providing, error) {
	s, k := p.ProvidingStores, p.ProvidingKernel
	if s.Credentials == nil || s.Types == nil || s.Leases == nil || k.Unit == nil || k.Clock == nil || k.IDs == nil ||
		p.Sealer == nil || p.Keys == nil {
		return nil, errors.New("secrets: a dependency is missing")
	}
	if k.Log == nil {
		k.Log = slog.New(slog.DiscardHandler)
	}
	calls := lease.NewCalls()
	book := lease.New(lease.Params{
		Store: s.Leases, Sealer: p.Sealer, Engines: p.Engines, Calls: calls, Unit: k.Unit, Clock: k.Clock, IDs: k.IDs, Log: k.Log,
	})
	provider := provide.New(provide.Params{
		Store: s.Credentials, Types: s.Types, Sealer: p.Sealer, Keys: p.Keys, Engines: p.Engines, Book: book, Calls: calls,
	})
	return &Providing{
		Provider:   provider,
		References: judge.New(s.Credentials, p.Sealer),
		Logins:     login.New(provider, book),
		Background: &Background{sweeper: lease.NewSweeper(book), renewer: lease.NewRenewer(book), readOnly: p.ReadOnly},
	}, nil
}

// Background is what this context does without being asked: it renews minted secrets as long as their runs last, and revokes minted secrets whose owners are done with them and did not give
// them back, at its start and every ten seconds. A lease is tried ten times, about five minutes apart; then it is forgotten, an error is
// logged, and the secret ends on its engine's time to live.
type Background struct {
	sweeper  *lease.Sweeper
	renewer  *lease.Renewer
	readOnly bool
}

// Start begins the work and returns at once. A process that only reads renews what its own runs have, and revokes nothing of others.
func (b *Background) Start() {
	b.renewer.Start()
	if !b.readOnly {
		b.sweeper.Start()
	}
}

// Stop ends the work, revokes what nobody else could, and returns when no engine is asked any more, or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		b.renewer.Stop()
		ended <- b.sweeper.Stop(ctx)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
