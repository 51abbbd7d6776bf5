package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"
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

// OrNull makes an argument of a text: NULL of an empty one.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
