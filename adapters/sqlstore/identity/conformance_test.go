package identity_test

import (
	"testing"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/identity/identitytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	identitytest.Run(t, func(t *testing.T, fn func(*testing.T, identitytest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlidentity.New(d)
			fn(t, identitytest.Stores{
				Unit: d, Accounts: s, Callers: s, Tokens: s, Use: s, Teams: s, Orgs: s, Grants: s, Objects: s, Rights: s,
				Handshakes: s, Versions: s, Preferences: s,
			})
		})
	})
}
