package identity_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/identity"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type fixture struct {
	*httpapitest.Server
	t    *testing.T
	fake *fakeModule
	fed  *federation
}

func params(s *fakeModule, fed *federation) identityapi.Params {
	return identityapi.Params{
		SignIn: signIn{s}, Self: self{s}, Preferences: preferences{s}, Shared: shared{s},
		Tokens: tokens{s}, Accounts: accounts{s},
		Teams: teams{s}, Orgs: orgs{s},
		Grants: grants{s},
		Providers: identityapi.Providers{
			OIDC: provider{s, identity.OIDC}, SAML: provider{s, identity.SAML}, Federation: fed, Beginnings: &beginnings{},
			Programs: programs{s},
		},
	}
}

func setup(t *testing.T, change ...func(*httpapi.Config, *identityapi.Params)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: &fakeModule{}, fed: &federation{}}
	config, p := httpapi.Config{Version: "1"}, params(f.fake, f.fed)
	for _, c := range change {
		c(&config, &p)
	}
	f.Server = httpapitest.Serve(t, config, identityapi.New(p))
	return f
}
