package db

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/tx"
)

// InterceptCommit makes every COMMIT go through fn, which calls next to do it. Set it before the first unit.
func (d *DB) InterceptCommit(fn func(next func() error) error) {
	commit := func(tx bun.Tx) error { return fn(tx.Commit) }
	switch r := d.runner.(type) {
	case *writer:
		r.commit = commit
	case *postgresRunner:
		r.commit, r.groups.commit = commit, commit
	}
}

// Version returns the number of an SQLite file that only commits of other processes change.
func (d *DB) Version(ctx context.Context) int64 {
	v, _ := d.runner.(*writer).version(ctx)
	return v
}

// WriterOver starts a writer of d on connections of c. attempt makes one attempt at a unit.
func (d *DB) WriterOver(ctx context.Context, c driver.Connector) (
	attempt func(context.Context, func(context.Context) error) error, stop func() error, err error) {
	w, err := startWriter(ctx, d, func(context.Context) (*bun.DB, error) {
		return bun.NewDB(sql.OpenDB(c), d.reads.Dialect()), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, fn func(context.Context) error) error {
		ctx, hooks := tx.WithHooks(ctx)
		return w.attempt(ctx, fn, hooks, false).err
	}, w.close, nil
}
