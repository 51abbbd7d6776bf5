package identity

import (
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/caller"
	"github.com/writ-automation/writ/modules/identity/internal/grant"
	"github.com/writ-automation/writ/modules/identity/internal/group"
	"github.com/writ-automation/writ/modules/identity/internal/guard"
	"github.com/writ-automation/writ/modules/identity/internal/signin"
	"github.com/writ-automation/writ/modules/identity/internal/throttle"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/modules/identity/internal/upkeep"
	"github.com/writ-automation/writ/modules/identity/internal/usage"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// People are the stores of who somebody is.
type People struct {
	Accounts   identity.AccountStore
	Callers    identity.CallerStore
	Tokens     identity.TokenStore
	Uses       identity.UseStore
	Handshakes identity.HandshakeStore
}

// Rights are the stores of what they may do.
type Rights struct {
	Teams   identity.TeamStore
	Orgs    identity.OrgStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
	Rights  identity.RightsStore
}

// Kernel is what every context needs of the process that it lives in.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

// Params is all that the context is made of. Every member but Config is required.
type Params struct {
	Config Config
	People People
	Rights Rights
	Kernel
	Hasher     identity.Hasher
	Authorizer identity.Authorizer
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
}

// Result is what the context provides. Background has to be started.
type Result struct {
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
	Background    *Background
}

// New makes the context and starts nothing. It returns an error where a dependency is missing, and an Invalid fault for
// settings that make no sense.
func New(p Params) (Result, error) {
	if !p.whole() {
		return Result{}, errors.New("identity: a dependency is missing")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	cfg, people, rights := p.Config.withDefaults(), p.People, p.Rights
	guardian := guard.New(p.Authorizer)
	recorder := usage.New(people.Uses, p.Unit, p.Log)
	var auth identity.Authenticator = caller.NewAuthenticator(people.Callers, p.Clock, recorder)
	if cfg.Open {
		auth = caller.NewOpen(people.Callers, account.AdminName)
	}
	bounds := throttle.New(p.Clock)
	issuer := token.Issuer{Clock: p.Clock, IDs: p.IDs}
	ofAccounts := account.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	ofSessions := signin.Kernel{Unit: p.Unit, Issuer: issuer, TTL: cfg.SessionTTL, Log: p.Log, Recorder: p.Recorder}
	ofGroups := group.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	return Result{
		Authenticator: auth,
		Bootstrap:     account.NewBootstrap(ofAccounts, people.Accounts, people.Tokens),
		Accounts:      account.New(ofAccounts, people.Accounts, people.Callers, people.Tokens, p.Hasher),
		Tokens:        token.NewKeeper(people.Tokens, p.Recorder, p.Unit, issuer, p.Log),
		SignIn:        signin.New(ofSessions, people.Accounts, people.Callers, people.Tokens, p.Hasher, bounds),
		Self:          caller.NewSelf(people.Tokens, rights.Teams, rights.Orgs),
		Federation:    signin.NewFederation(ofSessions, people.Accounts, people.Callers, people.Tokens, cfg.Rules, cfg.ReadOnly),
		Beginnings:    signin.NewBeginnings(bounds, p.Log),
		Teams:         group.NewTeams(ofGroups, rights.Teams),
		Orgs:          group.NewOrgs(ofGroups, rights.Orgs),
		Grants:        grant.NewGrants(rights.Grants, p.Recorder, p.Unit, p.Clock, p.IDs, p.Log),
		Objects:       grant.NewObjects(rights.Objects, p.Unit),
		Guard:         guardian,
		Owners:        guardian,
		Background: &Background{
			uses:   recorder,
			upkeep: upkeep.New(people.Tokens, people.Handshakes, rights.Rights, p.Unit, p.Clock, p.Log),
		},
	}, nil
}

// whole reports whether nothing is missing.
func (p *Params) whole() bool {
	s, r := &p.People, &p.Rights
	return s.Accounts != nil && s.Callers != nil && s.Tokens != nil && s.Uses != nil && s.Handshakes != nil &&
		r.Teams != nil && r.Orgs != nil && r.Grants != nil && r.Objects != nil && r.Rights != nil &&
		p.Unit != nil && p.Clock != nil && p.IDs != nil && p.Log != nil && p.Hasher != nil && p.Authorizer != nil && p.Recorder != nil
}
