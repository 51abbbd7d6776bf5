package policy_test

import (
	"testing"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlpolicy "github.com/writ-automation/writ/adapters/sqlstore/policy"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/policy/policytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	policytest.Run(t, func(t *testing.T, fn func(*testing.T, policytest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			rights := sqlidentity.New(d)
			fn(t, policytest.Stores{
				Unit: d, Policies: sqlpolicy.New(d), Windows: sqlpolicy.NewWindows(d),
				Orgs: rights, Teams: rights, Grants: rights, Objects: rights,
			})
		})
	})
}
