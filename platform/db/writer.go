package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// stallGrace is the time that a unit gets after its limit to notice that its context has ended.
const stallGrace = time.Second

// errAborted is the result of a unit whose function did not return: it panicked or left its goroutine.
var errAborted = errors.New("the unit of work did not return")

// writer runs one unit after the other in the transaction of its only connection and commits them together. On SQLite
// nothing else writes. On Postgres units that met a conflict run beside it.
type writer struct {
	owner *DB
	open  func(context.Context) (*bun.DB, error)
	db    *bun.DB // nil while the connection is lost; touched by the loop only
	kept  *statements

	jobs chan *job
	asks chan chan int64 // for the version of the file
	quit chan struct{}
	done chan struct{}

	// commit ends a transaction. It is a field so that tests can make it fail.
	commit func(bun.Tx) error
	renew  atomic.Bool // whether the next group shall have a new connection
}

var _ runner = (*writer)(nil)

// job is a waiting unit, and the channels between its caller and the writer.
type job struct {
	unit       *unit
	hooks      *tx.Hooks
	alone      bool
	optimistic bool // it has no savepoint
	limit      time.Duration
	taken      atomic.Bool // by the writer, which runs it, or by its caller, which left

	start    chan struct{} // closed when the transaction is the unit's
	finished chan error    // result of the function
	result   chan outcome
}

func startWriter(ctx context.Context, d *DB, open func(context.Context) (*bun.DB, error)) (*writer, error) {
	conn, err := open(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		owner: d, open: open, db: conn, kept: d.statements(), jobs: make(chan *job), asks: make(chan chan int64),
		quit: make(chan struct{}), done: make(chan struct{}),
		commit: func(tx bun.Tx) error { return tx.Commit() },
	}
	go w.loop()
	return w, nil
}

func (w *writer) close() error {
	close(w.quit)
	<-w.done
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

func errClosed() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the database is closed"}
}

// attempt runs the function on the caller's goroutine.
func (w *writer) attempt(ctx context.Context, fn func(context.Context) error, hooks *tx.Hooks, alone bool) outcome {
	if err := ctx.Err(); err != nil {
		return outcome{err: err}
	}
	j := &job{
		limit: tx.Limit(ctx, w.owner.cfg.UnitTimeout),
		unit:  &unit{owner: w.owner}, hooks: hooks, alone: alone, optimistic: tx.IsOptimistic(ctx),
		start: make(chan struct{}), finished: make(chan error, 1), result: make(chan outcome, 1),
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return outcome{err: ctx.Err()}
	case <-w.done:
		return outcome{err: errClosed()}
	}
	select {
	case <-j.start:
	case out := <-j.result:
		return out
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return outcome{err: ctx.Err()}
		}
		select {
		case <-j.start:
		case out := <-j.result:
			return out
		}
	}
	j.call(ctx, fn)
	return <-j.result
}

// call runs the function and reports to the writer even if the function panics; the panic continues in the caller.
func (j *job) call(ctx context.Context, fn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.limit)
	err := errAborted
	defer func() {
		cancel()
		j.finished <- err
	}()
	err = fn(context.WithValue(ctx, unitKey{j.unit.owner}, j.unit))
	if late := ctx.Err(); err == nil && late != nil {
		err = late
	}
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case j := <-w.jobs:
			for j != nil {
				j = w.group(j)
			}
		case reply := <-w.asks:
			reply <- w.look()
		case <-w.quit:
			return
		}
	}
}

// version returns a number that changes with a commit of another process but not of this one; ok is false if the writer
// has ended.
func (w *writer) version(ctx context.Context) (v int64, ok bool) {
	reply := make(chan int64, 1)
	select {
	case w.asks <- reply:
		v = <-reply
		return v, v >= 0
	case <-ctx.Done():
	case <-w.done:
	}
	return 0, false
}

// look is version on the writer's own connection, or -1 if that is lost.
func (w *writer) look() (v int64) {
	if w.db == nil || w.db.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&v) != nil {
		return -1
	}
	return v
}

// group runs the job and those that wait behind it in one transaction and commits. It returns a job that it took
// but that must start a group of its own.
func (w *writer) group(first *job) (next *job) {
	g, err := w.begin()
	if err != nil {
		w.refuse(first, err)
		return nil
	}
	g.run(first)
	for !first.alone && !g.full() {
		j := g.await()
		if j == nil {
			break
		}
		if j.alone {
			next = j
			break
		}
		g.run(j)
	}
	g.finish()
	if w.db != nil && w.kept.wanted() {
		w.kept.prepare(context.Background(), w.db)
	}
	return next
}

func (w *writer) begin() (_ *group, err error) {
	if w.db == nil {
		conn, err := w.open(context.Background())
		if err != nil {
			return nil, Translate(err)
		}
		w.db, w.kept = conn, w.owner.statements()
		w.owner.stats.reopened.Add(1)
	} else if w.renew.Swap(false) {
		w.db.SetMaxIdleConns(0)
		w.db.SetMaxIdleConns(1)
	}
	life, kill := context.WithCancel(context.Background())
	wait := w.owner.cfg.UnitTimeout
	if w.owner.engine == SQLite {
		wait += w.owner.cfg.BusyTimeout
	}
	limit := time.AfterFunc(wait, kill)
	g := &group{w: w, kill: kill}
	g.tx, g.conn, err = w.owner.beginOn(life, w.db, nil)
	if !limit.Stop() {
		if err == nil {
			_ = g.tx.Rollback()
		}
		err = context.DeadlineExceeded
	}
	if err != nil {
		g.release()
		return nil, fmt.Errorf("begin: %w", err)
	}
	g.watch = clock.Start()
	return g, nil
}

// beginOn begins a transaction, and returns its connection on Postgres.
func (d *DB) beginOn(ctx context.Context, pool *bun.DB, opts *sql.TxOptions) (begun bun.Tx, conn *sql.Conn, err error) {
	if d.engine == SQLite {
		begun, err = pool.BeginTx(ctx, opts)
		return begun, nil, err
	}
	c, err := pool.Conn(ctx)
	if err != nil {
		return begun, nil, err
	}
	if begun, err = c.BeginTx(ctx, opts); err != nil {
		return begun, nil, errors.Join(err, c.Close())
	}
	return begun, c.Conn, nil
}

// refuse fails the job, and those that wait, since the database cannot be reached: each would wait as long again.
func (w *writer) refuse(j *job, err error) {
	for j != nil {
		if j.taken.CompareAndSwap(false, true) {
			j.result <- outcome{err: err, again: IsTransient(err)}
		}
		select {
		case j = <-w.jobs:
		default:
			j = nil
		}
	}
}

// drop closes the connection after an error that leaves its state unknown; the next group opens the file again.
func (w *writer) drop() {
	if err := w.db.Close(); err != nil {
		w.owner.log.Warn("close the connection that writes", "error", err)
	}
	w.db = nil
}
