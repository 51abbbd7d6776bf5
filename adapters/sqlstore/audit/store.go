package audit

import (
	"fmt"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Store implements the stores of ports/audit. It is safe for concurrent use.
type Store struct {
	d        *db.DB
	dialect  db.Dialect
	entries  db.Model[entry]
	privates db.Model[private]
}

var (
	_ audit.ChainStore    = (*Store)(nil)
	_ audit.ChainReader   = (*Store)(nil)
	_ audit.TileStore     = (*Store)(nil)
	_ audit.AnchorStore   = (*Store)(nil)
	_ audit.IdentityStore = (*Store)(nil)
)

// New returns a Store on a migrated database.
func New(d *db.DB) *Store {
	return &Store{d: d, dialect: d.Dialect(), entries: db.ModelOf[entry](d), privates: db.ModelOf[private](d)}
}

func internal(format string, args ...any) error {
	return &fault.Error{Kind: fault.Internal, Message: fmt.Sprintf(format, args...)}
}

// digest scans 32 bytes. Altered values of another length become zeros, which match no hash.
type digest [32]byte

func (d *digest) Scan(src any) error {
	*d = digest{}
	if raw, ok := src.([]byte); ok && len(raw) == len(d) {
		copy(d[:], raw)
	}
	return nil
}
