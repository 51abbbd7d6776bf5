package identity

import (
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/modules/identity/internal/rights"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/cleanup"
	"github.com/writ-automation/writ/modules/identity/internal/signin"
	"github.com/writ-automation/writ/modules/identity/internal/token"
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

// Params are the dependencies of the context.
type Params struct {
	fx.In

	Config      Config
	Accounts    identity.AccountStore
	Callers     identity.CallerStore
	Tokens      identity.TokenStore
	Uses        identity.UseStore
	Handshakes  identity.HandshakeStore
	Teams       identity.TeamStore
	Orgs        identity.OrgStore
	Grants      identity.GrantStore
	Objects     identity.ObjectStore
	Rights      identity.RightsStore
	Preferences identity.PreferenceStore
	Hasher      identity.Hasher
	Authorizer  identity.Authorizer
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Observer background.Observer `optional:"true"`
}

// Result is what the context provides. Background must be started.
type Result struct {
	fx.Out

	Authenticator identity.Authenticator
	Bootstrap     identity.Bootstrap
	Accounts      identity.Accounts
	Tokens        identity.Tokens
	SignIn        identity.SignIn
	Local         identity.LocalSignIn
	Self          identity.Self
	Preferences   identity.OwnPreferences
	Shared        identity.TeamPreferences
	Federation    identity.Federation
	Beginnings    identity.SignInLimiter
	Programs      identity.ProgramSignIn
	Teams         identity.Teams
	Orgs          identity.Orgs
	Grants        identity.Grants
	Objects       identity.Objects
	Guard         access.Guard
	Operations    access.Operations
	Owners        access.Owners
	Background    Background
}

// Background records when tokens were used, and deletes expired rows.
type Background struct{ background.Group }

func provide(life fx.Lifecycle, p Params) (Result, error) {
	r, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// New makes the context and starts nothing. It returns an Invalid fault for invalid settings.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("identity: changes need a recorder")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	cfg := p.Config.withDefaults()
	k := kernel.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	guard := rights.NewGuard(p.Authorizer)
	recorder := token.NewRecorder(p.Uses, p.Unit, p.Log)
	var auth identity.Authenticator = token.NewAuthenticator(p.Callers, p.Clock, recorder)
	if cfg.Open {
		auth = token.NewOpen(p.Callers, account.AdminName)
	}
	sessions := signin.Sessions{
		Kernel: k, Accounts: p.Accounts, Callers: p.Callers, Tokens: p.Tokens, Uses: p.Uses,
		TTL: cfg.SessionTTL,
	}
	signIn := signin.New(sessions, p.Hasher)
	federation := signin.NewFederation(sessions, cfg.Rules, cfg.ReadOnly)
	cleaner := cleanup.New(p.Tokens, p.Handshakes, p.Rights, p.Unit, p.Clock)
	work := Background{background.Group{recorder.Loop(), cleaner.Loop()}}
	for _, l := range work.Group {
		l.Log, l.Observer = p.Log, p.Observer
	}
	teams := rights.NewTeams(k, p.Teams)
	return Result{
		Authenticator: auth,
		Bootstrap:     account.NewBootstrap(k, p.Accounts, p.Tokens, p.Hasher, cfg.AdminPassword),
		Accounts:      account.New(k, p.Accounts, p.Callers, p.Tokens, p.Hasher),
		Tokens:        token.NewTokens(k, p.Tokens, p.Accounts, signIn.Prove),
		SignIn:        signIn,
		Local:         &signin.Local{Sessions: sessions},
		Self:          token.NewSelf(p.Tokens, p.Teams, p.Orgs),
		Preferences:   account.NewPreferences(k, p.Preferences),
		Shared:        rights.NewTeamPreferences(teams, p.Preferences),
		Federation:    federation,
		Beginnings:    signIn,
		Programs:      signin.NewPrograms(k, p.Handshakes, federation, signIn),
		Teams:         teams,
		Orgs:          rights.NewOrgs(k, p.Orgs),
		Grants:        rights.NewGrants(k, p.Grants),
		Objects:       rights.NewObjects(p.Objects, p.Unit),
		Guard:         guard,
		Owners:        guard,
		Background:    work,
	}, nil
}
