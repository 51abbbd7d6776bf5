package identitytest

import (
	"testing"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit        tx.Unit
	Accounts    identity.AccountStore
	Callers     identity.CallerStore
	Tokens      identity.TokenStore
	Use         identity.UseStore
	Teams       identity.TeamStore
	Orgs        identity.OrgStore
	Grants      identity.GrantStore
	Objects     identity.ObjectStore
	Rights      identity.RightsStore
	Handshakes  identity.HandshakeStore
	Versions    identity.VersionStore
	Preferences identity.PreferenceStore
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

func newEnv(s Stores) *env { return &env{Stores: s} }

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "accounts", Cases: accountCases()},
		{Name: "tokens", Cases: tokenCases()},
		{Name: "teams", Cases: teamCases()},
		{Name: "organizations", Cases: orgCases()},
		{Name: "grants", Cases: grantCases()},
		{Name: "objects", Cases: objectCases()},
		{Name: "rights", Cases: rightsCases()},
		{Name: "handshakes", Cases: handshakeCases()},
		{Name: "preferences", Cases: preferenceCases()},
		{Name: "pages", Cases: pageCases()},
		{Name: "units", Cases: unitCases()},
	}, each, newEnv)
}
