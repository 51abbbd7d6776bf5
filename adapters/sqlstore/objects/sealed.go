package objects

import (
	"bytes"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/secrets"
)

// Sealed is a table with a key and the column sealed, which may be NULL.
type Sealed struct {
	D           *db.DB
	What, Table string
	// Key is the key column; empty means id.
	Key string
	// Version is the column of the version that is bound into the sealed text; empty means none.
	Version string
	// Record returns the record name for which the text of a row is sealed. Without a version column the version is 0.
	Record func(key string, version int64) string
}

var _ secrets.SealedStore = (*Sealed)(nil)

func (s *Sealed) Name() string { return s.What }

func (s *Sealed) key() bun.Ident {
	if s.Key == "" {
		return "id"
	}
	return bun.Ident(s.Key)
}

func (s *Sealed) list(ctx context.Context, q *bun.SelectQuery) ([]secrets.Sealed, error) {
	var version any = 0
	if s.Version != "" {
		version = bun.Ident(s.Version)
	}
	var rows []struct {
		Key     string
		Version int64
		Text    []byte
	}
	err := q.Table(s.Table).ColumnExpr("? AS key, ? AS version, sealed AS text", s.key(), version).
		Where("sealed IS NOT NULL").Scan(ctx, &rows)
	out := make([]secrets.Sealed, len(rows))
	for i, r := range rows {
		out[i] = secrets.Sealed{Key: r.Key, Record: s.Record(r.Key, r.Version), Text: r.Text}
	}
	return out, db.Translate(err)
}

// A limit that is not positive returns nothing.
func (s *Sealed) ListSealed(ctx context.Context, after string, limit int) ([]secrets.Sealed, error) {
	found, err := s.list(ctx, s.D.Read(ctx).NewSelect().Where("? > ?", s.key(), after).OrderExpr("?", s.key()).
		Apply(db.AtMost(limit)))
	return found, db.Wrap(err, "list the sealed texts of %s", s.Table)
}

// Outside of a unit of work the error is an Internal fault.
func (s *Sealed) Reseal(ctx context.Context, was secrets.Sealed, text []byte) (bool, error) {
	q := s.D.InUnit(ctx)
	is, err := s.list(ctx, q.NewSelect().Where("? = ?", s.key(), was.Key).Apply(s.D.Dialect().Lock))
	if err != nil {
		return false, fmt.Errorf("lock a sealed text of %s: %w", s.Table, err)
	}
	if len(is) == 0 || is[0].Record != was.Record || !bytes.Equal(is[0].Text, was.Text) {
		return false, nil
	}
	if _, err := db.Modify(ctx, q.NewUpdate().Table(s.Table).Set("sealed = ?", text).
		Where("? = ?", s.key(), was.Key)); err != nil {
		return false, fmt.Errorf("replace a sealed text of %s: %w", s.Table, err)
	}
	return true, nil
}
