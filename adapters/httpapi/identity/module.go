package identity

import (
	"errors"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

// Module provides the routes in httpapi.Group. The providers, named "oidc" and "saml", are optional; each of them
// needs the roles beside them.
var Module = fx.Module("httpapi.identity", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

// Params are the dependencies of the routes.
type Params struct {
	fx.In

	SignIn      identity.SignIn
	Self        identity.Self
	Preferences identity.OwnPreferences
	Shared      identity.TeamPreferences
	Tokens      identity.Tokens
	Accounts    identity.Accounts
	Teams       identity.Teams
	Orgs        identity.Orgs
	Grants      identity.Grants
	Providers   Providers
}

// Providers are the outside identity providers. The routes of one that is nil, and of all without the other roles,
// answer SignInDisabled.
type Providers struct {
	fx.In

	OIDC       identity.Provider      `name:"oidc" optional:"true"`
	SAML       identity.Provider      `name:"saml" optional:"true"`
	Federation identity.Federation    `optional:"true"`
	Beginnings identity.SignInLimiter `optional:"true"`
	Programs   identity.ProgramSignIn `optional:"true"`
}

func provide(p Params) (httpapi.Routes, error) {
	for _, of := range []identity.Provider{p.Providers.OIDC, p.Providers.SAML} {
		if of != nil && !p.Providers.ready(of) {
			return httpapi.Routes{}, errors.New(
				"httpapi/identity: a provider takes an identity.Federation, an identity.SignInLimiter and an " +
					"identity.ProgramSignIn")
		}
	}
	return New(p), nil
}
