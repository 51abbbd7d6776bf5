package identity

import (
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/caller"
	"github.com/writ-automation/writ/modules/identity/internal/cleanup"
	"github.com/writ-automation/writ/modules/identity/internal/grant"
	"github.com/writ-automation/writ/modules/identity/internal/group"
	"github.com/writ-automation/writ/modules/identity/internal/guard"
	"github.com/writ-automation/writ/modules/identity/internal/signin"
	"github.com/writ-automation/writ/modules/identity/internal/throttle"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/modules/identity/internal/usage"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context and runs its background work with the application.
var Module = fx.Module("identity", fx.Provide(provide))

// Params is all that the context is made of.
type Params struct {
	fx.In

	Config     Config
	Accounts   identity.AccountStore
	Callers    identity.CallerStore
	Tokens     identity.TokenStore
	Uses       identity.UseStore
	Handshakes identity.HandshakeStore
	Teams      identity.TeamStore
	Orgs       identity.OrgStore
	Grants     identity.GrantStore
	Objects    identity.ObjectStore
	Rights     identity.RightsStore
	Hasher     identity.Hasher
	Authorizer identity.Authorizer
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Observer background.Observer `optional:"true"`
}

// Result is what the context provides. Background has to be started.
type Result struct {
	fx.Out

	Authenticator identity.Authenticator
	Bootstrap     identity.Bootstrap
	Accounts      identity.Accounts
	Tokens        identity.Tokens
	SignIn        identity.SignIn
	Self          identity.Self
	Federation    identity.Federation
	Beginnings    identity.SignInLimiter
	Teams         identity.Teams
	Orgs          identity.Orgs
	Grants        identity.Grants
	Objects       identity.Objects
	Guard         access.Guard
	Owners        access.Owners
	Background    Background
}

// Background writes down when tokens were used, and deletes what nobody needs any more.
type Background struct{ background.Group }

func provide(life fx.Lifecycle, p Params) (Result, error) {
	r, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// New makes the context and starts nothing. It returns an Invalid fault for settings that make no sense.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("identity: changes need a recorder")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	cfg := p.Config.withDefaults()
	rightsGuard := guard.New(p.Authorizer)
	recorder := usage.New(p.Uses, p.Unit, p.Log)
	var auth identity.Authenticator = caller.NewAuthenticator(p.Callers, p.Clock, recorder)
	if cfg.Open {
		auth = caller.NewOpen(p.Callers, account.AdminName)
	}
	bounds := throttle.New(p.Clock)
	issuer := token.Issuer{Clock: p.Clock, IDs: p.IDs}
	ofAccounts := account.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	ofSessions := signin.Kernel{Unit: p.Unit, Issuer: issuer, TTL: cfg.SessionTTL, Log: p.Log, Recorder: p.Recorder}
	ofGroups := group.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	cleaner := cleanup.New(p.Tokens, p.Handshakes, p.Rights, p.Unit, p.Clock)
	work := Background{background.Group{recorder.Loop(), cleaner.Loop()}}
	for _, l := range work.Group {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return Result{
		Authenticator: auth,
		Bootstrap:     account.NewBootstrap(ofAccounts, p.Accounts, p.Tokens),
		Accounts:      account.New(ofAccounts, p.Accounts, p.Callers, p.Tokens, p.Hasher),
		Tokens:        token.NewTokens(p.Tokens, p.Recorder, p.Unit, issuer, p.Log),
		SignIn:        signin.New(ofSessions, p.Accounts, p.Callers, p.Tokens, p.Hasher, bounds),
		Self:          caller.NewSelf(p.Tokens, p.Teams, p.Orgs),
		Federation:    signin.NewFederation(ofSessions, p.Accounts, p.Callers, p.Tokens, cfg.Rules, cfg.ReadOnly),
		Beginnings:    signin.NewBeginnings(bounds, p.Log),
		Teams:         group.NewTeams(ofGroups, p.Teams),
		Orgs:          group.NewOrgs(ofGroups, p.Orgs),
		Grants:        grant.NewGrants(p.Grants, p.Recorder, p.Unit, p.Clock, p.IDs, p.Log),
		Objects:       grant.NewObjects(p.Objects, p.Unit),
		Guard:         rightsGuard,
		Owners:        rightsGuard,
		Background:    work,
	}, nil
}
