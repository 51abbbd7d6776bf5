package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
)

// Store implements the stores of ports/catalog. It is safe for concurrent use.
type Store struct {
	d     *db.DB
	say   db.Dialect
	codec *pack.Codec
}

var (
	_ catalog.ProjectStore   = (*Store)(nil)
	_ catalog.InventoryStore = (*Store)(nil)
	_ catalog.SourceStore    = (*Store)(nil)
	_ catalog.TemplateStore  = (*Store)(nil)
	_ catalog.Usage          = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, say: d.Dialect(), codec: pack.New()} }

func text(r db.Row) (s string, err error) { return s, r.Scan(&s) }

func number(r db.Row) (n int, err error) { return n, r.Scan(&n) }

func count(ctx context.Context, q bun.IDB, query string, args ...any) (int, error) {
	n, _, err := db.One(ctx, q, number, query, args...)
	return n, err
}

func exec(ctx context.Context, q bun.IDB, query string, args ...any) (int64, error) {
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, db.Translate(err)
	}
	n, err := res.RowsAffected()
	return n, db.Translate(err)
}

// optional makes NULL of an empty text.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// marks are as many places for arguments as there are, with commas between.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// document makes the column of a value that is kept as JSON. Raw members keep their characters as they are.
func document(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("write a stored document: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// read undoes document. Numbers of no declared type are json.Number.
func read(column string, v any) error {
	d := json.NewDecoder(strings.NewReader(column))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read a stored document: %w", err)
	}
	return nil
}
