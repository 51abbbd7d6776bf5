package identity

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context and runs its background work with the application. It needs a Config, the
// identity stores, a hasher, an authorizer, a recorder, a unit of work, a clock, ids and a logger.
var Module = fx.Module("identity", fx.Provide(provide))

type peopleParams struct {
	fx.In

	Accounts   identity.AccountStore
	Callers    identity.CallerStore
	Tokens     identity.TokenStore
	Uses       identity.UseStore
	Handshakes identity.HandshakeStore
}

type rightsParams struct {
	fx.In

	Teams   identity.TeamStore
	Orgs    identity.OrgStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
	Rights  identity.RightsStore
}

type ownParams struct {
	fx.In

	Config     Config
	Unit       tx.Unit
	Clock      clock.Clock
	IDs        ids.Generator
	Log        *slog.Logger
	Hasher     identity.Hasher
	Authorizer identity.Authorizer
	Recorder   audit.Recorder
}

type results struct {
	fx.Out

	Authenticator identity.Authenticator
	Bootstrap     identity.Bootstrap
	Accounts      identity.Accounts
	Tokens        identity.Tokens
	SignIn        identity.SignIn
	Self          identity.Self
	Federation    identity.Federation
	Beginnings    identity.Beginnings
	Teams         identity.Teams
	Orgs          identity.Orgs
	Grants        identity.Grants
	Objects       identity.Objects
	Guard         access.Guard
	Owners        access.Owners
}

func provide(life fx.Lifecycle, s peopleParams, r rightsParams, o ownParams) (results, error) {
	res, err := New(Params{
		Config: o.Config,
		People: People{s.Accounts, s.Callers, s.Tokens, s.Uses, s.Handshakes},
		Rights: Rights{r.Teams, r.Orgs, r.Grants, r.Objects, r.Rights},
		Kernel: Kernel{o.Unit, o.Clock, o.IDs, o.Log},
		Hasher: o.Hasher, Authorizer: o.Authorizer, Recorder: o.Recorder,
	})
	if err != nil {
		return results{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { res.Background.Start(); return nil },
		OnStop:  res.Background.Stop,
	})
	return results{
		Authenticator: res.Authenticator, Bootstrap: res.Bootstrap, Accounts: res.Accounts, Tokens: res.Tokens,
		SignIn: res.SignIn, Self: res.Self, Federation: res.Federation, Beginnings: res.Beginnings, Teams: res.Teams, Orgs: res.Orgs,
		Grants: res.Grants, Objects: res.Objects, Guard: res.Guard, Owners: res.Owners,
	}, nil
}
