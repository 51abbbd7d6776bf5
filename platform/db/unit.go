package db

import (
	"context"
	"database/sql"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// unit is one unit of work for its stores: a bun.IDB over the transaction that refuses statements after the unit has
// ended, and after one of its statements has failed.
type unit struct {
	owner *DB
	ctx   context.Context

	gate sync.RWMutex // held for reading by each statement, so that the end of the unit waits for it
	tx   bun.Tx
	conn *sql.Conn // of tx on Postgres
	kept *statements
	open bool
	none bool // there is no open unit

	// save sets the savepoint of the unit before its first statement; nil if none is needed.
	save  func() error
	first sync.Once
	saved bool

	mu      sync.Mutex
	failure error
}

var _ bun.IDB = (*unit)(nil)

type unitKey struct{ owner *DB }

func (d *DB) unitOf(ctx context.Context) *unit {
	u, _ := ctx.Value(unitKey{d}).(*unit)
	return u
}

func (u *unit) begin(tx bun.Tx, conn *sql.Conn, kept *statements) {
	u.gate.Lock()
	defer u.gate.Unlock()
	u.tx, u.conn, u.kept, u.open = tx, conn, kept, true
}

// end closes the unit to further statements and returns the error that doomed it.
func (u *unit) end() error {
	u.gate.Lock()
	defer u.gate.Unlock()
	u.open = false
	return u.failed()
}

func (u *unit) isOpen() bool {
	u.gate.RLock()
	defer u.gate.RUnlock()
	return u.open
}

func (u *unit) failed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

// fail dooms the unit: it will not be committed, whatever its function returns.
func (u *unit) fail(err error) {
	if err == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failure == nil {
		u.failure = err
	}
}

func (u *unit) errClosed() error {
	if u.none {
		return &fault.Error{Kind: fault.Internal, Message: "a write outside of a unit of work"}
	}
	return &fault.Error{Kind: fault.Internal, Message: "the unit of work is over: its context escaped from it"}
}

// atEnd is the key of the statements for the end of a unit.
type atEnd struct{ owner *DB }

// AtEnd executes statements, in their order, when the unit of ctx is about to commit: in one round trip on Postgres,
// with those of the units that share the commit. For changes that nothing in a unit reads.
func (d *DB) AtEnd(ctx context.Context, statements ...Statement) error {
	if u := d.unitOrNone(ctx); !u.isOpen() {
		return u.errClosed()
	}
	for _, s := range statements {
		if err := d.atEnd(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) atEnd(ctx context.Context, s Statement) error {
	return tx.BeforeCommit(ctx, tx.Late, atEnd{d}, s, func(ctx context.Context, all []Statement) error {
		_, err := d.Dialect().Together(ctx, d.InUnit(ctx), all...)
		return Translate(err)
	})
}

// enter holds the unit open for a statement. On an error the gate is not held.
func (u *unit) enter() error {
	u.gate.RLock()
	if !u.open {
		u.gate.RUnlock()
		return u.errClosed()
	}
	if u.save != nil {
		u.first.Do(func() {
			u.saved = true
			u.fail(u.save())
		})
	}
	if err := u.failed(); err != nil {
		u.gate.RUnlock()
		return fault.Wrap(fault.KindOf(Translate(err)), err, "an earlier statement of this unit of work failed")
	}
	return nil
}

func (u *unit) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := u.enter(); err != nil {
		return nil, err
	}
	defer u.gate.RUnlock()
	rows, err := u.query(ctx, query, args)
	u.fail(err)
	return rows, err
}

func (u *unit) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := u.enter(); err != nil {
		return nil, err
	}
	defer u.gate.RUnlock()
	res, err := u.exec(ctx, query, args)
	u.fail(err)
	return res, err
}

func (u *unit) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := u.enter(); err != nil {
		return u.owner.refused.row(ctx, err)
	}
	defer u.gate.RUnlock()
	row := u.queryRow(ctx, query, args)
	u.fail(row.Err())
	return row
}

// BeginTx refuses: units nest through tx.Unit.
func (u *unit) BeginTx(context.Context, *sql.TxOptions) (bun.Tx, error) {
	return bun.Tx{}, errNesting()
}

// RunInTx refuses: units nest through tx.Unit.
func (u *unit) RunInTx(context.Context, *sql.TxOptions, func(context.Context, bun.Tx) error) error {
	return errNesting()
}

func errNesting() error {
	return &fault.Error{Kind: fault.Internal,
		Message: "stores do not open transactions: units of work do, and nest by joining"}
}

// statement does not prepare a text without arguments: the query builder has written them into it, so it does not
// repeat.
func (u *unit) statement(ctx context.Context, query string, args []any) (querier, string, []any) {
	if len(args) > 0 && u.kept != nil {
		if stmt, bound := u.kept.statement(query, args); stmt != nil {
			return u.kept.on(ctx, stmt, u.tx.Tx, nil, bound)
		}
	}
	return u.tx, query, args
}

func (u *unit) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	on, text, all := u.statement(ctx, query, args)
	return on.QueryContext(ctx, text, all...)
}

func (u *unit) exec(ctx context.Context, query string, args []any) (sql.Result, error) {
	on, text, all := u.statement(ctx, query, args)
	return on.ExecContext(ctx, text, all...)
}

func (u *unit) queryRow(ctx context.Context, query string, args []any) *sql.Row {
	on, text, all := u.statement(ctx, query, args)
	return on.QueryRowContext(ctx, text, all...)
}
