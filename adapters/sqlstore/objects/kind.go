package objects

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// Record maps an object.Record to columns.
type Record struct {
	ID        string `bun:",pk"`
	Name      string
	Org       string    `bun:"org_id,nullzero"`
	CreatedBy string    `bun:",skipupdate"`
	CreatedAt time.Time `bun:",skipupdate"`
	UpdatedAt time.Time
	Revision  int64
}

// Head returns the record.
func (r Record) Head() Record { return r }

// Row is a model of an object table with the alias o, for objects of type T.
type Row[T any] interface {
	Object() T
	Head() Record
}

// Kind stores objects of one kind; all kinds share its methods.
type Kind[T any, R Row[T]] struct {
	Noun    string
	Missing fault.Code // for an object that does not exist
	Unread  []string   // columns that are written and never read
	// NoOrg returns the fault for an unknown organization, in place of identity.OrgNotFound.
	NoOrg func(org string, cause error) error
}

// None returns the fault for an object that does not exist.
func (k Kind[T, R]) None(id string) error { return k.Missing.New("no %s %q", k.Noun, id) }

func (k Kind[T, R]) taken(name string) error {
	return Naming("name", access.NameTaken.New("the %s name %q is taken", k.Noun, name))
}

// Naming adds the member of the request to a fault.
func Naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// failed adds the verb and the object to the error of a failed write.
func (k Kind[T, R]) failed(verb string, row R, err error) error {
	r := row.Head()
	switch {
	case db.IsUnique(err):
		return k.taken(r.Name)
	case db.IsForeignKey(err) && k.NoOrg != nil:
		return k.NoOrg(r.Org, err)
	case db.IsForeignKey(err):
		return Naming("org_id", identity.OrgNotFound.New("no organization %q", r.Org).Because(err))
	}
	return fmt.Errorf("%s the %s %q: %w", verb, k.Noun, r.Name, err)
}

// Insert stores a row, with additional arguments for the statement. An existing id is NameTaken too, and an unknown
// organization is identity.OrgNotFound.
func (k Kind[T, R]) Insert(
	ctx context.Context, d *db.DB, row R, more ...func(*bun.InsertQuery) *bun.InsertQuery,
) error {
	r := row.Head()
	n, err := db.Modify(ctx, d.InUnit(ctx).NewInsert().Model(&row).Value("revision", "?", max(r.Revision, 1)).
		On("CONFLICT DO NOTHING").Returning("NULL").Apply(more...))
	switch {
	case err != nil:
		return k.failed("store", row, err)
	case n == 0:
		return k.taken(r.Name)
	}
	return nil
}

// Select returns a query of complete rows.
func (k Kind[T, R]) Select(q bun.IDB, rows any) *bun.SelectQuery {
	return q.NewSelect().Model(rows).ExcludeColumn(k.Unread...)
}

// ByID returns an object, or the fault Missing.
func (k Kind[T, R]) ByID(
	ctx context.Context, q bun.IDB, id string, more ...func(*bun.SelectQuery) *bun.SelectQuery,
) (T, error) {
	var row R
	ok, err := db.First(ctx, k.Select(q, &row).Where("o.id = ?", id).Apply(more...))
	return row.Object(), db.OrMissing(ok, db.Wrap(err, "read the %s %q", k.Noun, id), k.None(id))
}

// All returns the objects of a query.
func All[T any, R Row[T]](ctx context.Context, q *bun.SelectQuery, rows *[]R) ([]T, error) {
	if err := q.Scan(ctx); err != nil {
		return nil, db.Translate(err)
	}
	out := make([]T, len(*rows))
	for i, r := range *rows {
		out[i] = r.Object()
	}
	return out, nil
}

// List returns the objects that match a condition and a filter, by name, and the total number.
func (k Kind[T, R]) List(
	ctx context.Context, q bun.IDB, visible Condition, f catalog.Filter, w page.Window,
) ([]T, int, error) {
	some := func() *bun.SelectQuery {
		s := q.NewSelect().Model((*R)(nil)).Where(visible.Text, visible.Args...)
		if f.Name != "" {
			s.Where("o.name = ?", f.Name)
		}
		if len(f.Names) > 0 {
			s.Where("o.name IN (?)", bun.In(f.Names))
		}
		if f.Org != "" {
			s.Where("o.org_id = ?", f.Org)
		}
		return s
	}
	var rows []R
	// The inner query only reads an index, so a large offset does not read the skipped rows.
	found, err := All(ctx, k.Select(q, &rows).Join("JOIN (?) AS w ON w.id = o.id", some().Column("id").
		OrderExpr("o.name, o.id").Apply(db.Window(w))).OrderExpr("o.name, o.id"), &rows)
	if err != nil {
		return nil, 0, fmt.Errorf("list objects of the kind %s: %w", k.Noun, err)
	}
	if n := len(found); w.Offset == 0 && n < w.Rows() {
		return found, n, nil
	}
	n, err := db.Total(ctx, some())
	return found, n, db.Wrap(err, "count objects of the kind %s", k.Noun)
}

// Condition is a part of a query with its arguments.
type Condition struct {
	Text string
	Args []any
}

// And returns the conjunction of the condition and the text.
func (c Condition) And(text string, args ...any) Condition {
	return Condition{c.Text + " AND " + text, slices.Concat(c.Args, args)}
}

// Where returns a condition of the parts that package visible returns.
func Where(text string, args []any) Condition { return Condition{text, args} }

// Lock locks a row until the unit ends and returns the unit's database handle. Errors: RevisionChanged if the revision
// is neither 0 nor the stored one, and the fault Missing.
func (k Kind[T, R]) Lock(ctx context.Context, d *db.DB, id string, revision int64) (bun.IDB, error) {
	q, is := d.InUnit(ctx), int64(0)
	ok, err := db.First(ctx, q.NewSelect().Model((*R)(nil)).Column("revision").Where("o.id = ?", id).
		Apply(d.Dialect().Lock), &is)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the %s %q: %w", k.Noun, id, err)
	case !ok:
		return nil, k.None(id)
	case revision != 0 && is != revision:
		return nil, access.RevisionChanged.New("the %s %q was changed meanwhile", k.Noun, id)
	}
	return q, nil
}

// Update locks and replaces a row, with the revision check of Lock.
func (k Kind[T, R]) Update(
	ctx context.Context, d *db.DB, row R, revision int64, more ...func(*bun.UpdateQuery) *bun.UpdateQuery,
) (none T, err error) {
	q, err := k.Lock(ctx, d, row.Head().ID, revision)
	if err != nil {
		return none, err
	}
	return k.Replace(ctx, q, row, more...)
}

// Replace stores a locked row without the skipped columns, with additional arguments for the statement, increments its
// revision and returns the object. Errors: NameTaken, identity.OrgNotFound.
func (k Kind[T, R]) Replace(
	ctx context.Context, q bun.IDB, row R, more ...func(*bun.UpdateQuery) *bun.UpdateQuery,
) (none T, err error) {
	r := row.Head()
	taken, err := q.NewSelect().Model((*R)(nil)).Where("o.name = ? AND COALESCE(o.org_id, '') = ? AND o.id <> ?", r.Name,
		r.Org, r.ID).Exists(ctx)
	switch {
	case err != nil:
		return none, db.Wrap(err, "look for the name of a %s", k.Noun)
	case taken:
		return none, k.taken(r.Name)
	}
	update := q.NewUpdate().Model(&row).Value("revision", "revision + 1").WherePK().Returning("NULL")
	if _, err := db.Modify(ctx, update.Apply(more...)); err != nil {
		return none, k.failed("change", row, err)
	}
	return k.ByID(ctx, q, r.ID)
}

// Remove deletes a row and its references. Errors: RevisionChanged, the fault Missing.
func (k Kind[T, R]) Remove(ctx context.Context, d *db.DB, id string, revision int64) error {
	q, err := k.Lock(ctx, d, id, revision)
	if err != nil {
		return err
	}
	if _, err := q.NewDelete().Model((*Reference)(nil)).Where("owner = ?", id).Exec(ctx); err != nil {
		return db.Wrap(err, "delete the references of the %s %q", k.Noun, id)
	}
	_, err = q.NewDelete().Model((*R)(nil)).Where("o.id = ?", id).Exec(ctx)
	return db.Wrap(err, "delete the %s %q", k.Noun, id)
}

// Reference is a reference from the object Owner to the object Target.
type Reference struct {
	bun.BaseModel `bun:"table:object_refs"`
	Owner, Target string
}
