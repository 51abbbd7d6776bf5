package catalog

import (
	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// Store implements the stores of ports/catalog. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
	codec   *pack.Codec
}

var (
	_ catalog.ProjectStore          = (*Store)(nil)
	_ catalog.InventoryStore        = (*Store)(nil)
	_ catalog.InventoryVersionStore = (*Store)(nil)
	_ catalog.SourceStore           = (*Store)(nil)
	_ catalog.TemplateStore         = (*Store)(nil)
	_ object.Usage                  = (*Store)(nil)
)

// New returns a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, dialect: d.Dialect(), codec: pack.New()} }

// SealedStores returns the tables with sealed values: the header values of inventory sources, and the secrets of
// workers that refresh them.
func (s *Store) SealedStores() []secrets.SealedStore {
	return []secrets.SealedStore{&objects.Sealed{
		D: s.d, What: "inventory sources", Table: "inventory_sources", Record: func(id string, _ int64) string {
			return catalog.SourceRecord(id)
		},
	}, &objects.Sealed{
		D: s.d, What: "secrets of refreshes", Table: "source_refreshes", Key: "source_id",
		Record: func(id string, _ int64) string { return catalog.RefreshRecord(id) },
	}}
}
