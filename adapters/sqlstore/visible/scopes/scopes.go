// Package scopes stores which objects decide who may read a run and what comes of it.
//
// A scope is a set of objects, stored once for all runs that name the same ones, and never deleted: what a run left
// behind is read by the same callers after the run was deleted.
package scopes

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// The scopes without a row. Default is that of runs which name only the default queue, as most do. Unknown is that of
// data whose run was deleted before its objects were stored with the data.
const (
	Default = 0
	Unknown = -1
)

// DefaultObject is the only object of the scope Default.
var DefaultObject = access.Queue(runs.DefaultQueue)

// Scopes finds and stores scopes. It is safe for concurrent use.
type Scopes struct{ cache *cache }

// New makes a Scopes with an empty cache.
func New() *Scopes { return &Scopes{newCache()} }

type row struct {
	bun.BaseModel `bun:"table:run_scopes,alias:s"`
	ID            int64 `bun:",pk,autoincrement"`
	Digest        string
}

type object struct {
	bun.BaseModel `bun:"table:run_scope_objects,alias:so"`
	ScopeID       int64
	Object        string
}

// Of returns the scope of objects in their stored form: sorted, each once. No objects are the scope Unknown.
func (s *Scopes) Of(ctx context.Context, q bun.IDB, objects []string) (id int64, stored []string, err error) {
	switch stored = normal(objects); {
	case len(stored) == 0:
		return Unknown, nil, nil
	case len(stored) == 1 && stored[0] == DefaultObject:
		return Default, stored, nil
	}
	digest := digestOf(stored)
	if id, ok := s.cache.id(digest); ok {
		return id, stored, nil
	}
	if id, err = intern(ctx, q, digest, stored); err != nil {
		return 0, nil, fmt.Errorf("store a set of objects: %w", err)
	}
	// The scope is cached after the commit, since a rollback removes it.
	keep := slices.Clone(stored)
	tx.OnCommit(ctx, func() { s.cache.put(id, digest, keep) })
	return id, stored, nil
}

// intern finds or inserts the scope. If several units insert the same one, the others wait for the first.
func intern(ctx context.Context, q bun.IDB, digest string, objects []string) (int64, error) {
	r := row{Digest: digest}
	find := q.NewSelect().Model(&r).Where("s.digest = ?", digest)
	if ok, err := db.First(ctx, find); err != nil || ok {
		return r.ID, err
	}
	n, err := db.Modify(ctx, q.NewInsert().Model(&r).On("CONFLICT (digest) DO NOTHING").Returning("id"))
	if err != nil {
		return 0, err
	}
	if n == 0 {
		_, err := db.First(ctx, find)
		return r.ID, err
	}
	rows := make([]object, len(objects))
	for i, o := range objects {
		rows[i] = object{ScopeID: r.ID, Object: o}
	}
	_, err = db.Modify(ctx, q.NewInsert().Model(&rows))
	return r.ID, err
}

// Objects returns the objects of a scope, which the caller may keep; none of the scope Unknown.
func (s *Scopes) Objects(ctx context.Context, q bun.IDB, id int64) ([]string, error) {
	switch id {
	case Default:
		return []string{DefaultObject}, nil
	case Unknown:
		return nil, nil
	}
	if list := s.cache.objects(id); list != nil {
		return slices.Clone(list), nil
	}
	var list []string
	if err := q.NewSelect().Model((*object)(nil)).Column("object").Where("so.scope_id = ?", id).
		Scan(ctx, &list); err != nil {
		return nil, db.Wrap(err, "read the objects of a scope")
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the scope %d has no objects", id)
	}
	slices.Sort(list)
	keep := slices.Clone(list)
	tx.OnCommit(ctx, func() { s.cache.put(id, digestOf(keep), keep) })
	return list, nil
}

// Hidden selects the scopes with an object that the reader may not read. For most readers only restricted objects can
// be hidden, which are few. Each object is checked once in either case.
func Hidden(reader access.Scope) (text string, args []any) {
	if !reader.Strict {
		readable, args := visible.Where(reader, "h.id")
		return "SELECT so.scope_id FROM access_objects AS h CROSS JOIN run_scope_objects AS so " +
			"WHERE h.restricted AND NOT " + readable + " AND so.object = h.id", args
	}
	readable, args := visible.Where(reader, "o.object")
	return "SELECT so.scope_id FROM run_scope_objects AS so WHERE so.object IN (SELECT o.object FROM " +
		"(SELECT DISTINCT object FROM run_scope_objects) AS o WHERE NOT " + readable + ")", args
}

// DefaultReadable returns a query with one row if the reader may read the scope Default, and none otherwise.
func DefaultReadable(reader access.Scope) (text string, args []any) {
	readable, args := visible.Where(reader, "d.object")
	return "SELECT 1 AS what, 0 AS id FROM (SELECT CAST(? AS TEXT) AS object) AS d WHERE " + readable,
		append([]any{DefaultObject}, args...)
}

// Reader knows which scopes a reader may read.
type Reader struct {
	all, plain bool
	hidden     map[int64]bool
}

// ReaderOf finds the scopes that a reader may read.
func ReaderOf(ctx context.Context, q bun.IDB, reader access.Scope) (*Reader, error) {
	if reader.All {
		return &Reader{all: true}, nil
	}
	plain, plainArgs := DefaultReadable(reader)
	hidden, hiddenArgs := Hidden(reader)
	rows, err := db.Query[struct{ What, ID int64 }](ctx, q,
		plain+" UNION ALL SELECT 2, x.scope_id FROM ("+hidden+") AS x", append(plainArgs, hiddenArgs...)...)
	if err != nil {
		return nil, fmt.Errorf("find what may be read: %w", err)
	}
	r := &Reader{hidden: make(map[int64]bool, len(rows))}
	for _, x := range rows {
		if x.What == 1 {
			r.plain = true
		} else {
			r.hidden[x.ID] = true
		}
	}
	return r, nil
}

// All reports whether nothing is hidden, whatever the scope.
func (r *Reader) All() bool { return r.all || r.plain && len(r.hidden) == 0 }

// May reports whether the reader may read what has the scope. The scope Unknown was one of the others, so that who may
// read all of those may read it.
func (r *Reader) May(id int64) bool {
	switch id {
	case Unknown:
		return r.All()
	case Default:
		return r.all || r.plain
	default:
		return !r.hidden[id]
	}
}
