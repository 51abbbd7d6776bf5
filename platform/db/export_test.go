package db

import (
	"context"

	"github.com/uptrace/bun"
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
