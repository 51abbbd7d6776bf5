package secrets

import (
	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/secrets"
)

// Store implements the stores of ports/secrets. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
}

var (
	_ secrets.Store      = (*Store)(nil)
	_ secrets.TypeStore  = (*Store)(nil)
	_ secrets.LeaseStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, dialect: d.Dialect()} }

// SealedStores returns the tables with sealed texts: the credentials and the leases.
func (s *Store) SealedStores() []secrets.SealedStore {
	return []secrets.SealedStore{
		&objects.Sealed{D: s.d, What: "credentials", Table: "credentials", Version: "secret_version",
			Record: secrets.CredentialRecord},
		&objects.Sealed{
			D: s.d, What: "leases", Table: "secret_leases",
			Record: func(id string, _ int64) string { return secrets.LeaseRecord(id) },
		},
	}
}
