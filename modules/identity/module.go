package identity

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context. It needs a Config, the identity stores, a unit of work, a clock, ids and a
// logger. Stopping writes down the last uses of tokens.
var Module = fx.Module("identity", fx.Provide(provide))

type moduleParams struct {
	fx.In
	Config Config
	Store  identity.Store
	Uses   identity.UseStore
	Unit   tx.Unit
	Clock  clock.Clock
	IDs    ids.Generator
	Log    *slog.Logger
}

type moduleResult struct {
	fx.Out
	Authenticator identity.Authenticator
	Tokens        identity.Tokens
	Bootstrap     identity.Bootstrap
}

func provide(life fx.Lifecycle, p moduleParams) (moduleResult, error) {
	res, err := New(Params{
		Config: p.Config, Store: p.Store, Uses: p.Uses, Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log,
	})
	if err != nil {
		return moduleResult{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { res.Uses.Start(); return nil },
		OnStop:  func(context.Context) error { res.Uses.Stop(); return nil },
	})
	return moduleResult{Authenticator: res.Authenticator, Tokens: res.Tokens, Bootstrap: res.Bootstrap}, nil
}
