package catalog_test

import (
	"testing"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/catalog/catalogtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, func(t *testing.T, fn func(*testing.T, catalogtest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s, rights := sqlcatalog.New(d), sqlidentity.New(d)
			fn(t, catalogtest.Stores{
				Unit: d, Projects: s, Inventories: s, Versions: s, Sources: s, Templates: s, Usage: s, Refreshes: s,
				RefreshQueue: s,
				Orgs:         rights, Teams: rights, Grants: rights, Objects: rights,
			})
		})
	})
}
