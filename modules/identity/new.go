package identity

import (
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/identity/internal/access"
	"github.com/writ-automation/writ/modules/identity/internal/usage"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Params are what the context needs. Every member but Config is required.
type Params struct {
	Config Config
	Store  identity.Store
	Uses   identity.UseStore
	Unit   tx.Unit
	Clock  clock.Clock
	IDs    ids.Generator
	Log    *slog.Logger
}

// Result are the roles that the context plays.
type Result struct {
	Authenticator identity.Authenticator
	Tokens        identity.Tokens
	Bootstrap     identity.Bootstrap
	// Uses writes down when tokens were used; somebody must run it.
	Uses Runner
}

// Runner is background work: Start begins it, Stop finishes what is left and returns when nothing runs any more.
type Runner interface {
	Start()
	Stop()
}

// New wires the context. It returns an error where a member of Params is missing.
func New(p Params) (Result, error) {
	if p.Store == nil || p.Uses == nil || p.Unit == nil || p.Clock == nil || p.IDs == nil || p.Log == nil {
		return Result{}, errors.New("identity: a dependency is missing")
	}
	recorder := usage.New(p.Uses, p.Unit, p.Log)
	var auth identity.Authenticator = access.NewAuthenticator(p.Store, p.Clock, recorder)
	if p.Config.Open {
		auth = access.NewOpen(p.Store)
	}
	keys := access.NewTokens(p.Store, p.Unit, p.Clock, p.IDs)
	return Result{
		Authenticator: auth,
		Tokens:        keys,
		Bootstrap:     access.NewBootstrap(p.Store, p.Unit, p.Clock, p.IDs),
		Uses:          recorder,
	}, nil
}
