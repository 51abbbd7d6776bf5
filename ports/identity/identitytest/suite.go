package identitytest

import (
	"testing"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit       tx.Unit
	Accounts   identity.AccountStore
	Callers    identity.CallerStore
	Tokens     identity.TokenStore
	Use        identity.UseStore
	Teams      identity.TeamStore
	Orgs       identity.OrgStore
	Grants     identity.GrantStore
	Objects    identity.ObjectStore
	Rights     identity.RightsStore
	Handshakes identity.HandshakeStore
	Versions   identity.VersionStore
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"accounts", accountCases()},
		{"tokens", tokenCases()},
		{"teams", teamCases()},
		{"organizations", orgCases()},
		{"grants", grantCases()},
		{"objects", objectCases()},
		{"rights", rightsCases()},
		{"handshakes", handshakeCases()},
		{"pages", pageCases()},
		{"units", unitCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, fn := range group.cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					each(t, func(t *testing.T, s Stores) { fn(t, &env{Stores: s}) })
				})
			}
		})
	}
}
