package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/page"
)

// Query reads the rows of a query, each a number, a text or a model whose members are found by the names of the
// columns. Errors are translated.
func Query[T any](ctx context.Context, q bun.IDB, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Translate(err)
	}
	var out []T
	scanner := q.(interface {
		ScanRows(ctx context.Context, rows *sql.Rows, dest ...any) error
	})
	return out, Translate(scanner.ScanRows(ctx, rows, &out))
}

// QueryRow is Query for the first row; ok is false if there is none.
func QueryRow[T any](ctx context.Context, q bun.IDB, query string, args ...any) (row T, ok bool, err error) {
	found, err := Query[T](ctx, q, query, args...)
	if err != nil || len(found) == 0 {
		return row, false, err
	}
	return found[0], true, nil
}

// Count reads the only number of a query, 0 if there is no row. Errors are translated.
func Count(ctx context.Context, q bun.IDB, query string, args ...any) (int, error) {
	n, _, err := QueryRow[int](ctx, q, query, args...)
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

// First reads the first row of a query of the builder into its model, or into dest; ok is false if there is none.
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

// Window restricts a query to a window of its rows; use it as q.Apply(db.Window(w)).
func Window(w page.Window) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Limit(int64(w.Rows())).Offset(int64(w.Offset))
	}
}

// AtMost restricts a query to its first n rows, or to none if n is not positive; use it as q.Apply(db.AtMost(n)).
func AtMost(n int) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if n <= 0 {
			q.Where("1 = 0")
		}
		return q.Limit(int64(n))
	}
}

// Wrap translates an error and adds the operation that failed. It is nil for nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), Translate(err))
}

// OrMissing returns err if it is not nil, else missing if ok is false.
func OrMissing(ok bool, err, missing error) error {
	if err == nil && !ok {
		return missing
	}
	return err
}

// Convert converts rows to a list of another type. It returns nil if there are no rows.
func Convert[R, T any](rows []R, fn func(R) T) []T {
	var out []T
	for _, r := range rows {
		out = append(out, fn(r))
	}
	return out
}

// OrNull returns the text as an argument, or NULL if it is empty.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
