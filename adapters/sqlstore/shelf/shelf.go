package shelf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// Kind is one sort of object: rows that are made, found, listed, changed and removed alike. A row begins with the columns of
// its record.
type Kind[T any] struct {
	Table, Noun string
	Missing     fault.Code // of one that does not exist
	Columns     []string   // beside those of the record
	Scan        func(r db.Row) (T, error)
}

// The columns of a record that an insertion writes and a query reads.
const (
	recordColumns = "id, name, org_id, created_by, created_at, updated_at, revision"
	recordRead    = "id, name, COALESCE(org_id, ''), created_by, created_at, updated_at, revision"
)

// Stamps are the times of a record as its columns hold them.
type Stamps struct{ created, updated db.Time }

// Targets are where the columns of a record are read to; Stamps.Set ends the reading.
func Targets(r *catalog.Record, s *Stamps) []any {
	return []any{&r.ID, &r.Name, &r.Org, &r.CreatedBy, &s.created, &s.updated, &r.Revision}
}

// Set gives the record the times that were read.
func (s Stamps) Set(r *catalog.Record) { r.CreatedAt, r.UpdatedAt = s.created.Time, s.updated.Time }

// Selects returns the beginning of a query of whole rows, in which they are called o.
func (k Kind[T]) Selects() string {
	return "SELECT " + recordRead + ", " + strings.Join(k.Columns, ", ") + " FROM " + k.Table + " AS o"
}

// None returns the fault of a row that does not exist.
func (k Kind[T]) None(id string) error { return k.Missing.New("no %s %q", k.Noun, id) }

func (k Kind[T]) taken(name string) error {
	return Naming("name", catalog.NameTaken.New("the %s name %q is taken", k.Noun, name))
}

// Naming makes a fault name the member of the request that it is about.
func Naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// Insert stores a row: the record and the values of the columns. An id that exists is NameTaken as well, and an organization
// that does not is identity.OrgNotFound.
func (k Kind[T]) Insert(ctx context.Context, d *db.DB, r catalog.Record, values ...any) error {
	q, err := d.Write(ctx)
	if err != nil {
		return err
	}
	args := append([]any{
		r.ID, r.Name, db.OrNull(r.Org), r.CreatedBy, db.At(r.CreatedAt), db.At(r.UpdatedAt), max(r.Revision, 1),
	}, values...)
	n, err := db.Exec(ctx, q, "INSERT INTO "+k.Table+" ("+recordColumns+", "+strings.Join(k.Columns, ", ")+") VALUES ("+Marks(len(args))+") "+
		"ON CONFLICT DO NOTHING", args...)
	switch {
	case db.IsForeignKey(err):
		return noOrg(r.Org, err)
	case err != nil:
		return fmt.Errorf("store a row of %s: %w", k.Table, err)
	case n == 0:
		return k.taken(r.Name)
	}
	return nil
}

func noOrg(org string, cause error) error {
	return Naming("org_id", identity.OrgNotFound.New("no organization %q", org).Because(cause))
}

// ByID returns a row, the fault Missing where there is none.
func (k Kind[T]) ByID(ctx context.Context, q bun.IDB, id string) (T, error) {
	v, ok, err := db.One(ctx, q, k.Scan, k.Selects()+" WHERE o.id = ?", id)
	switch {
	case err != nil:
		return v, fmt.Errorf("read a row of %s: %w", k.Table, err)
	case !ok:
		return v, k.None(id)
	}
	return v, nil
}

// List returns the rows that a condition and a filter let through, by name, and how many there are.
func (k Kind[T]) List(ctx context.Context, q bun.IDB, shown Condition, f catalog.Filter, w page.Window) ([]T, int, error) {
	where := shown
	if f.Name != "" {
		where = where.And("o.name = ?", f.Name)
	}
	if f.Org != "" {
		where = where.And("o.org_id = ?", f.Org)
	}
	// The window is found in an index alone, so that a deep one does not read the rows before it.
	found, err := db.All(ctx, q, k.Scan, k.Selects()+" JOIN (SELECT o.id AS shown FROM "+k.Table+" AS o WHERE "+where.Text+
		" ORDER BY o.name, o.id LIMIT ? OFFSET ?) AS w ON o.id = w.shown ORDER BY o.name, o.id", append(slices.Clone(where.Args), w.Rows(), w.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", k.Table, err)
	}
	if rest := len(found); w.Offset == 0 && rest < w.Rows() {
		return found, rest, nil
	}
	n, err := db.Count(ctx, q, "SELECT count(*) FROM "+k.Table+" AS o WHERE "+where.Text, where.Args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", k.Table, err)
	}
	return found, n, nil
}

// Condition is a part of a query with its arguments.
type Condition struct {
	Text string
	Args []any
}

// And returns the condition that holds where this one does and the text as well.
func (c Condition) And(text string, args ...any) Condition {
	return Condition{c.Text + " AND " + text, slices.Concat(c.Args, args)}
}

// Where makes a condition of its parts, as package visible returns them.
func Where(text string, args []any) Condition { return Condition{text, args} }

// Held locks a row until the unit ends and returns where the unit writes. RevisionChanged where the revision is not 0 and not the
// stored one, the fault Missing where there is no row.
func (k Kind[T]) Held(ctx context.Context, d *db.DB, id string, revision int64) (bun.IDB, error) {
	q, err := d.Write(ctx)
	if err != nil {
		return nil, err
	}
	is, ok, err := db.One(ctx, q, func(r db.Row) (n int64, err error) { return n, r.Scan(&n) },
		"SELECT revision FROM "+k.Table+" WHERE id = ?"+d.Dialect().ForUpdate(), id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock a row of %s: %w", k.Table, err)
	case !ok:
		return nil, k.None(id)
	case revision != 0 && is != revision:
		return nil, catalog.RevisionChanged.New("the %s %q was changed meanwhile", k.Noun, id)
	}
	return q, nil
}

// Update stores what a caller may set of a record, and columns, in a row that is held, counts its revision up and returns the row.
// NameTaken, identity.OrgNotFound.
func (k Kind[T]) Update(ctx context.Context, q bun.IDB, r catalog.Record, set string, values ...any) (T, error) {
	var none T
	taken, err := db.Count(ctx, q, "SELECT count(*) FROM "+k.Table+" WHERE name = ? AND COALESCE(org_id, '') = ? AND id <> ?", r.Name, r.Org, r.ID)
	switch {
	case err != nil:
		return none, fmt.Errorf("look for a name in %s: %w", k.Table, err)
	case taken > 0:
		return none, k.taken(r.Name)
	}
	args := slices.Concat([]any{r.Name, db.OrNull(r.Org), db.At(r.UpdatedAt)}, values, []any{r.ID})
	_, err = db.Exec(ctx, q, "UPDATE "+k.Table+" SET revision = revision + 1, name = ?, org_id = ?, updated_at = ?, "+set+" WHERE id = ?", args...)
	switch {
	case db.IsUnique(err): // another unit took the name since it was looked for
		return none, k.taken(r.Name)
	case db.IsForeignKey(err):
		return none, noOrg(r.Org, err)
	case err != nil:
		return none, fmt.Errorf("change a row of %s: %w", k.Table, err)
	}
	return k.ByID(ctx, q, r.ID)
}

// Remove deletes a row and what it names. RevisionChanged, the fault Missing.
func (k Kind[T]) Remove(ctx context.Context, d *db.DB, id string, revision int64) error {
	q, err := k.Held(ctx, d, id, revision)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM object_refs WHERE owner = ?", id); err != nil {
		return fmt.Errorf("forget what an object names: %w", err)
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM "+k.Table+" WHERE id = ?", id); err != nil {
		return fmt.Errorf("delete a row of %s: %w", k.Table, err)
	}
	return nil
}

// Marks are as many places for arguments as there are, at least one, with commas between.
func Marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }
