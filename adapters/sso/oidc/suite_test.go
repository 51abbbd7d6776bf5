package oidc_test

import (
	"testing"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/identity/identitytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	identitytest.RunProvider(t, func(t *testing.T) identitytest.ProviderUnderTest {
		s := newSite(t, open(t), nil, nil)
		return identitytest.ProviderUnderTest{Provider: s, Visit: s.visit, Want: identity.External{
			Link: identity.Link{Protocol: identity.OIDC, Issuer: s.idp.URL, Subject: "s-1"}, Username: "ada", FullName: "Ada L",
			Email: "ada@example.com",
		}}
	})
}
