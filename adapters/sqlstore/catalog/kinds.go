package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// kind is one sort of object: rows that are made, found, listed, changed and removed alike. A row begins with the columns of
// its record.
type kind[T any] struct {
	table, noun string
	missing     fault.Code
	columns     []string // beside those of the record
	scan        func(r db.Row) (T, error)
}

// The columns of a record that an insertion writes and a query reads.
const (
	recordColumns = "id, name, org_id, created_by, created_at, updated_at, revision"
	recordRead    = "id, name, COALESCE(org_id, ''), created_by, created_at, updated_at, revision"
)

// stamps are the times of a record as its columns hold them.
type stamps struct{ created, updated db.Time }

// targets are where the columns of a record are read to; set ends the reading.
func targets(r *catalog.Record, s *stamps) []any {
	return []any{&r.ID, &r.Name, &r.Org, &r.CreatedBy, &s.created, &s.updated, &r.Revision}
}

func (s stamps) set(r *catalog.Record) { r.CreatedAt, r.UpdatedAt = s.created.Time, s.updated.Time }

func (k kind[T]) selects() string {
	return "SELECT " + recordRead + ", " + strings.Join(k.columns, ", ") + " FROM " + k.table + " AS o"
}

func (k kind[T]) none(id string) error { return k.missing.New("no %s %q", k.noun, id) }

func (k kind[T]) taken(name string) error {
	return naming("name", catalog.NameTaken.New("the %s name %q is taken", k.noun, name))
}

// naming makes a fault name the member of the request that it is about.
func naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// insert stores a row: the record and the values of the columns. An id that exists is NameTaken as well, and an organization
// that does not is identity.OrgNotFound.
func (k kind[T]) insert(ctx context.Context, s *Store, r catalog.Record, values ...any) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	args := append([]any{
		r.ID, r.Name, db.OrNull(r.Org), r.CreatedBy, db.At(r.CreatedAt), db.At(r.UpdatedAt), max(r.Revision, 1),
	}, values...)
	n, err := db.Exec(ctx, q, "INSERT INTO "+k.table+" ("+recordColumns+", "+strings.Join(k.columns, ", ")+") VALUES ("+marks(len(args))+") "+
		"ON CONFLICT DO NOTHING", args...)
	switch {
	case db.IsForeignKey(err):
		return noOrg(r.Org, err)
	case err != nil:
		return fmt.Errorf("store a row of %s: %w", k.table, err)
	case n == 0:
		return k.taken(r.Name)
	}
	return nil
}

func noOrg(org string, cause error) error {
	return naming("org_id", identity.OrgNotFound.New("no organization %q", org).Because(cause))
}

func (k kind[T]) byID(ctx context.Context, q bun.IDB, id string) (T, error) {
	v, ok, err := db.One(ctx, q, k.scan, k.selects()+" WHERE o.id = ?", id)
	switch {
	case err != nil:
		return v, fmt.Errorf("read a row of %s: %w", k.table, err)
	case !ok:
		return v, k.none(id)
	}
	return v, nil
}

// list returns the rows that a condition and a filter let through, by name, and how many there are.
func (k kind[T]) list(ctx context.Context, q bun.IDB, shown condition, f catalog.Filter, w page.Window) ([]T, int, error) {
	where := shown
	if f.Name != "" {
		where = where.and("o.name = ?", f.Name)
	}
	if f.Org != "" {
		where = where.and("o.org_id = ?", f.Org)
	}
	// The window is found in an index alone, so that a deep one does not read the rows before it.
	found, err := db.All(ctx, q, k.scan, k.selects()+" JOIN (SELECT o.id AS shown FROM "+k.table+" AS o WHERE "+where.text+
		" ORDER BY o.name, o.id LIMIT ? OFFSET ?) AS w ON o.id = w.shown ORDER BY o.name, o.id", append(slices.Clone(where.args), w.Rows(), w.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", k.table, err)
	}
	if rest := len(found); w.Offset == 0 && rest < w.Rows() {
		return found, rest, nil
	}
	n, err := db.Count(ctx, q, "SELECT count(*) FROM "+k.table+" AS o WHERE "+where.text, where.args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", k.table, err)
	}
	return found, n, nil
}

// condition is a part of a query with its arguments.
type condition struct {
	text string
	args []any
}

func (c condition) and(text string, args ...any) condition {
	return condition{c.text + " AND " + text, slices.Concat(c.args, args)}
}

// readable holds where the scope may read the object of a kind that a column names.
func readable(s access.Scope, kind, column string) condition {
	text, args := visible.Those(s, kind, column)
	return condition{text, args}
}

// held locks a row until the unit ends and returns its revision, which has to be the wanted one unless that is 0.
func (k kind[T]) held(ctx context.Context, s *Store, id string, revision int64) (bun.IDB, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return nil, err
	}
	is, ok, err := db.One(ctx, q, func(r db.Row) (n int64, err error) { return n, r.Scan(&n) },
		"SELECT revision FROM "+k.table+" WHERE id = ?"+s.say.ForUpdate(), id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock a row of %s: %w", k.table, err)
	case !ok:
		return nil, k.none(id)
	case revision != 0 && is != revision:
		return nil, catalog.RevisionChanged.New("the %s %q was changed meanwhile", k.noun, id)
	}
	return q, nil
}

// update stores what a caller may set of a record, and columns, in a row that is held, and counts its revision up.
func (k kind[T]) update(ctx context.Context, q bun.IDB, r catalog.Record, set string, values ...any) (T, error) {
	var none T
	taken, err := db.Count(ctx, q, "SELECT count(*) FROM "+k.table+" WHERE name = ? AND COALESCE(org_id, '') = ? AND id <> ?", r.Name, r.Org, r.ID)
	switch {
	case err != nil:
		return none, fmt.Errorf("look for a name in %s: %w", k.table, err)
	case taken > 0:
		return none, k.taken(r.Name)
	}
	args := slices.Concat([]any{r.Name, db.OrNull(r.Org), db.At(r.UpdatedAt)}, values, []any{r.ID})
	_, err = db.Exec(ctx, q, "UPDATE "+k.table+" SET revision = revision + 1, name = ?, org_id = ?, updated_at = ?, "+set+" WHERE id = ?", args...)
	switch {
	case db.IsUnique(err): // another unit took the name since it was looked for
		return none, k.taken(r.Name)
	case db.IsForeignKey(err):
		return none, noOrg(r.Org, err)
	case err != nil:
		return none, fmt.Errorf("change a row of %s: %w", k.table, err)
	}
	return k.byID(ctx, q, r.ID)
}

// remove deletes a row and what it names.
func (k kind[T]) remove(ctx context.Context, s *Store, id string, revision int64) error {
	q, err := k.held(ctx, s, id, revision)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM object_refs WHERE owner = ?", id); err != nil {
		return fmt.Errorf("forget what an object names: %w", err)
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM "+k.table+" WHERE id = ?", id); err != nil {
		return fmt.Errorf("delete a row of %s: %w", k.table, err)
	}
	return nil
}
