package db

import (
	"context"
	"slices"

	"github.com/uptrace/bun"
)

// Names can be locked until a unit ends, whether or not there is a row for them. On SQLite, where only one unit runs at
// a time, every lock is free.

// lockOf is the number of the lock of a name, which is an expression or an argument mark.
func lockOf(name string) string { return "hashtextextended(" + name + ", 0)" }

// LockNames locks names until the unit ends, always in the same order, so that two callers do not deadlock. It waits
// for units that hold them. Only a unit that holds no other locks of names may call it.
func (d Dialect) LockNames(ctx context.Context, q bun.IDB, names ...string) error {
	if d.engine != Postgres {
		return nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	list := make([]Statement, len(names))
	for i, name := range names {
		list[i] = Statement{Query: "SELECT pg_advisory_xact_lock(" + lockOf("?") + ")", Args: []any{name}}
	}
	if len(list) == 0 {
		return nil
	}
	_, err := d.Together(ctx, q, list...)
	return Translate(err)
}

// TryLockName is the expression that locks a name until the unit ends, and is false if another unit holds it.
func (d Dialect) TryLockName(name string) string {
	if d.engine != Postgres {
		return "TRUE"
	}
	return "pg_try_advisory_xact_lock(" + lockOf(name) + ")"
}

// TryLock is TryLockName for one name.
func (d Dialect) TryLock(ctx context.Context, q bun.IDB, name string) (bool, error) {
	if d.engine != Postgres {
		return true, nil
	}
	found, _, err := QueryRow[struct{ Locked bool }](ctx, q, "SELECT "+d.TryLockName("?")+" AS locked", name)
	return found.Locked, err
}

// LockTable waits for units that have used a table and have not ended, and keeps others from it until the unit ends. On
// SQLite there are no others.
func (d Dialect) LockTable(ctx context.Context, q bun.IDB, table string) error {
	if d.engine != Postgres {
		return nil
	}
	_, err := Exec(ctx, q, "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	return err
}
