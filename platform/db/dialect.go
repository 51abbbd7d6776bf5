package db

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/writ-automation/writ/platform/clock"
)

// Dialect holds the differences between the engines. Stores use it instead of checking the engine.
type Dialect struct {
	engine Engine
	lease  *leaseClock
}

// Dialect returns the differences of this database's engine.
func (d *DB) Dialect() Dialect { return Dialect{engine: d.engine, lease: d.lease} }

// Engine returns the engine of the dialect.
func (d Dialect) Engine() Engine { return d.engine }

// ForUpdate is the clause that locks the selected rows until the unit ends, with a leading space, for raw SQL. It is
// empty on SQLite, where only one unit runs at a time.
func (d Dialect) ForUpdate() string {
	if d.engine == Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// ForUpdateSkipLocked is ForUpdate that skips rows which another unit has locked.
func (d Dialect) ForUpdateSkipLocked() string {
	if d.engine == Postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// ForShare is ForUpdate with a shared lock: the selected rows stay unchanged until the unit ends, and units that only
// read them do not wait for each other.
func (d Dialect) ForShare() string {
	if d.engine == Postgres {
		return " FOR SHARE"
	}
	return ""
}

// Lock adds ForUpdate to a query; use it as q.Apply(d.Dialect().Lock).
func (d Dialect) Lock(q *bun.SelectQuery) *bun.SelectQuery {
	if d.engine == Postgres {
		return q.For("UPDATE")
	}
	return q
}

// LockSkip adds ForUpdateSkipLocked to a query; use it as q.Apply(d.Dialect().LockSkip).
func (d Dialect) LockSkip(q *bun.SelectQuery) *bun.SelectQuery {
	if d.engine == Postgres {
		return q.For("UPDATE SKIP LOCKED")
	}
	return q
}

// LockShare adds ForShare to a query; use it as q.Apply(d.Dialect().LockShare).
func (d Dialect) LockShare(q *bun.SelectQuery) *bun.SelectQuery {
	if d.engine == Postgres {
		return q.For("SHARE")
	}
	return q
}

// Limit is the clause that takes the number of rows as an argument, with a leading space, for raw SQL. SQLite plans a
// prepared statement anew for each value of a bare "LIMIT ?", which costs more than the statement; a sum is only added.
const Limit = " LIMIT ? + 0"

// Statement is a text with its arguments.
type Statement struct {
	Query string
	Args  []any
}

// Together runs statements in their order and returns how many rows the last one changed. On Postgres that is one
// round trip, which matters while others wait for a row that the unit has locked. The error is the driver's;
// statements after the failed one did not run.
func (d Dialect) Together(ctx context.Context, q bun.IDB, statements ...Statement) (rows int64, err error) {
	if u, ok := q.(*unit); ok && d.engine == Postgres {
		return u.together(ctx, statements)
	}
	for _, s := range statements {
		res, err := q.ExecContext(ctx, s.Query, s.Args...)
		if err != nil {
			return 0, err
		}
		if rows, err = res.RowsAffected(); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// LeaseTime is a point on the lease clock, or on the wall clock if WallNow made it, for use as a query argument: a
// literal on SQLite, an expression that the database evaluates on Postgres.
type LeaseTime struct {
	engine Engine
	at     time.Time
	offset time.Duration
}

var _ schema.QueryAppender = LeaseTime{}

// LeaseNow is the current time on the clock of the leases.
func (d Dialect) LeaseNow() LeaseTime {
	if d.engine == Postgres {
		return LeaseTime{engine: Postgres}
	}
	return LeaseTime{engine: SQLite, at: d.lease.Now()}
}

// WallNow is the current time of the wall clock that all writers of this database share, for recorded times: the
// database's clock on Postgres, read when the query executes, and this machine's, read now, on SQLite.
func (d Dialect) WallNow() LeaseTime {
	if d.engine == Postgres {
		return LeaseTime{engine: Postgres}
	}
	return LeaseTime{engine: SQLite, at: clock.New().Now()}
}

// Add returns the point dur later, or earlier if dur is negative.
func (t LeaseTime) Add(dur time.Duration) LeaseTime {
	t.offset += dur
	return t
}

// AppendQuery writes the point as SQL of its engine.
func (t LeaseTime) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	if t.engine == SQLite {
		return gen.Dialect().AppendTime(b, t.at.Add(t.offset)), nil
	}
	if t.offset == 0 {
		return append(b, "clock_timestamp()"...), nil
	}
	return fmt.Appendf(b, "(clock_timestamp() + interval '%d microseconds')", t.offset.Microseconds()), nil
}
