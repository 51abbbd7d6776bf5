package identity

import (
	"errors"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

// Module provides the routes in httpapi.Group. The providers, named "oidc" and "saml", are optional; each of them
// needs the federation and the limiter.
var Module = fx.Module("httpapi.identity", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	SignIn    identity.SignIn
	Self      identity.Self
	Tokens    identity.Tokens
	Accounts  identity.Accounts
	Teams     identity.Teams
	Orgs      identity.Orgs
	Grants    identity.Grants
	Providers moduleProviders
}

type moduleProviders struct {
	fx.In
	OIDC       identity.Provider      `name:"oidc" optional:"true"`
	SAML       identity.Provider      `name:"saml" optional:"true"`
	Federation identity.Federation    `optional:"true"`
	Beginnings identity.SignInLimiter `optional:"true"`
}

func provide(p moduleParams) (httpapi.Routes, error) {
	s := Providers{OIDC: p.Providers.OIDC, SAML: p.Providers.SAML, Federation: p.Providers.Federation,
		Beginnings: p.Providers.Beginnings}
	for _, of := range []identity.Provider{s.OIDC, s.SAML} {
		if of != nil && !s.ready(of) {
			return httpapi.Routes{}, errors.New(
				"httpapi/identity: a provider takes an identity.Federation and identity.Beginnings")
		}
	}
	return New(Params{
		SignIn: p.SignIn, Self: p.Self, Tokens: p.Tokens, Accounts: p.Accounts, Teams: p.Teams, Orgs: p.Orgs,
		Grants: p.Grants, Providers: s,
	}), nil
}
