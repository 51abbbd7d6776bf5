package shelf

import (
	"bytes"
	"context"
	"fmt"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/secrets"
)

// Sealed is a table with the columns id and sealed, of which the second may be NULL. It implements secrets.Holder; the keys are the
// ids.
type Sealed struct {
	D           *db.DB
	What, Table string
	// Version is the column of the number that is bound into what is sealed, empty for none.
	Version string
	// Record is for which record the text of a row is sealed. Without a column the version is 0.
	Record func(id string, version int64) string
}

var _ secrets.Holder = (*Sealed)(nil)

// Holds implements secrets.Holder.
func (s *Sealed) Holds() string { return s.What }

func (s *Sealed) selects() string {
	version := s.Version
	if version == "" {
		version = "0"
	}
	return "SELECT id, " + version + ", sealed FROM " + s.Table
}

func (s *Sealed) scan(r db.Row) (x secrets.Sealed, err error) {
	var version int64
	err = r.Scan(&x.Key, &version, &x.Text)
	x.Record = s.Record(x.Key, version)
	return x, err
}

// ListSealed implements secrets.Holder. A limit that is not positive lists nothing.
func (s *Sealed) ListSealed(ctx context.Context, after string, limit int) ([]secrets.Sealed, error) {
	found, err := db.All(ctx, s.D.Read(ctx), s.scan, s.selects()+" WHERE id > ? AND sealed IS NOT NULL ORDER BY id LIMIT ?", after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("list the sealed texts of %s: %w", s.Table, err)
	}
	return found, nil
}

// Reseal implements secrets.Holder. Outside of a unit it is an Internal fault.
func (s *Sealed) Reseal(ctx context.Context, was secrets.Sealed, text []byte) (bool, error) {
	q, err := s.D.Write(ctx)
	if err != nil {
		return false, err
	}
	is, ok, err := db.One(ctx, q, s.scan, s.selects()+" WHERE id = ? AND sealed IS NOT NULL"+s.D.Dialect().ForUpdate(), was.Key)
	if err != nil {
		return false, fmt.Errorf("lock a sealed text of %s: %w", s.Table, err)
	}
	if !ok || is.Record != was.Record || !bytes.Equal(is.Text, was.Text) {
		return false, nil
	}
	if _, err := db.Exec(ctx, q, "UPDATE "+s.Table+" SET sealed = ? WHERE id = ?", text, was.Key); err != nil {
		return false, fmt.Errorf("replace a sealed text of %s: %w", s.Table, err)
	}
	return true, nil
}
