package db

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/page"
)

// Row is what a query found, for scanning.
type Row interface{ Scan(targets ...any) error }

// All reads every row of a query. Errors are translated.
func All[T any](ctx context.Context, q bun.IDB, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Translate(err)
	}
	var out []T
	for rows.Next() {
		var v T
		if v, err = scan(rows); err != nil {
			break
		}
		out = append(out, v)
	}
	return out, Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// One reads the only row of a query; ok is false where there is none. Errors are translated.
func One[T any](ctx context.Context, q bun.IDB, scan func(Row) (T, error), query string, args ...any) (v T, ok bool, err error) {
	v, err = scan(q.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, Translate(err)
}

// Select reads the rows of a query into a slice of models by the names of their columns. Errors are translated.
func Select(ctx context.Context, q bun.IDB, slice any, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return Translate(err)
	}
	scanner := q.(interface {
		ScanRows(ctx context.Context, rows *sql.Rows, dest ...any) error
	})
	return Translate(scanner.ScanRows(ctx, rows, slice))
}

// Columns lists the columns of a model for a query: those of the table with the alias, under names that begin with prefix.
func (d *DB) Columns(model any, alias, prefix string) string {
	var names []string
	for _, f := range d.reads.Table(reflect.TypeOf(model)).Fields {
		names = append(names, alias+"."+f.Name+" AS "+prefix+f.Name)
	}
	return strings.Join(names, ", ")
}

// Count reads the only number of a query, 0 where there is no row. Errors are translated.
func Count(ctx context.Context, q bun.IDB, query string, args ...any) (int, error) {
	n, _, err := One(ctx, q, func(r Row) (n int, err error) { return n, r.Scan(&n) }, query, args...)
	return n, err
}

// Exec runs a statement and returns how many rows it changed. Errors are translated.
func Exec(ctx context.Context, q bun.IDB, query string, args ...any) (int64, error) {
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, Translate(err)
	}
	n, err := res.RowsAffected()
	return n, Translate(err)
}

// Modify runs an insertion, a change or a deletion of the query builder and returns how many rows it changed. Errors
// are translated.
func Modify(ctx context.Context, q interface {
	Exec(ctx context.Context, dest ...any) (sql.Result, error)
}) (int64, error) {
	res, err := q.Exec(ctx)
	if err != nil {
		return 0, Translate(err)
	}
	n, err := res.RowsAffected()
	return n, Translate(err)
}

// First reads the first row of a query of the builder into its model, or into dest; ok is false where there is none.
// Errors are translated.
func First(ctx context.Context, q interface {
	Scan(ctx context.Context, dest ...any) error
}, dest ...any) (ok bool, err error) {
	err = q.Scan(ctx, dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, Translate(err)
}

// Total counts the rows of a query of the builder. Errors are translated.
func Total(ctx context.Context, q *bun.SelectQuery) (int, error) {
	n, err := q.Count(ctx)
	return int(n), Translate(err)
}

// Window narrows a query to a stretch of its rows; use it as q.Apply(db.Window(w)).
func Window(w page.Window) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Limit(int64(w.Rows())).Offset(int64(w.Offset))
	}
}

// AtMost narrows a query to its first rows, to none where n is not positive; use it as q.Apply(db.AtMost(n)).
func AtMost(n int) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if n <= 0 {
			q.Where("1 = 0")
		}
		return q.Limit(int64(n))
	}
}

// OrNull makes an argument of a text: NULL of an empty one.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
