package db

import "github.com/uptrace/bun"

// InterceptCommit makes every COMMIT go through fn, which calls next to do it. Set it before the first unit.
func (d *DB) InterceptCommit(fn func(next func() error) error) {
	commit := func(tx bun.Tx) error { return fn(tx.Commit) }
	switch r := d.runner.(type) {
	case *writer:
		r.commit = commit
	case *postgresRunner:
		r.commit = commit
	}
}
