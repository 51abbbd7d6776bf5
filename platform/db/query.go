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
