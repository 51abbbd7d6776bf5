package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// group is one transaction of the writer and the units that share it.
type group struct {
	w     *writer
	tx    bun.Tx
	conn  *sql.Conn          // of tx on Postgres
	kill  context.CancelFunc // ends a statement of the transaction itself that does not end
	ready []*job             // ran without an error and wait for the commit
	saved bool               // there is a savepoint
	watch clock.Stopwatch
	void  bool // the transaction is gone
}

// yields is how often the writer lets other goroutines run before it commits a group of several. Callers that the last
// commit released can then submit their next unit; without such callers it costs no time.
const yields = 3

func (g *group) full() bool {
	cfg := g.w.owner.cfg
	return g.void || len(g.ready) >= cfg.MaxGroup || g.watch.Elapsed() > cfg.MaxGroupTime
}

// await returns a waiting job, or nil if there is none.
func (g *group) await() *job {
	for n := 0; ; n++ {
		select {
		case j := <-g.w.jobs:
			return j
		default:
		}
		if n == yields {
			return nil
		}
		runtime.Gosched()
	}
}

// run gives the transaction to a unit and waits until the unit has ended. The first unit of a group needs no
// savepoint: its changes are undone with the transaction. Nor does an optimistic one, nor one that leaves all its
// statements to the end.
func (g *group) run(j *job) {
	if !j.taken.CompareAndSwap(false, true) {
		return
	}
	inner := len(g.ready) > 0
	if inner && !j.optimistic {
		j.unit.save = g.save
	}
	j.unit.begin(g.tx, g.conn, g.w.kept)
	close(j.start)
	switch err, stalled := g.takeBack(j); {
	case stalled:
		g.w.owner.stats.stalled.Add(1)
		g.fail(j, fault.Wrap(fault.Unavailable, err, "the unit of work took too long"))
	case err != nil:
		g.undo(j, err, inner && !j.optimistic)
	default:
		g.ready = append(g.ready, j)
	}
}

// save replaces the savepoint by one for the next unit.
func (g *group) save() error {
	if !g.saved {
		g.saved = true
		return g.exec("SAVEPOINT unit")
	}
	return g.exec("RELEASE unit", "SAVEPOINT unit")
}

// takeBack waits for the function of the unit, which its caller runs, and closes the unit.
func (g *group) takeBack(j *job) (err error, stalled bool) {
	limit := time.NewTimer(j.limit + stallGrace)
	defer limit.Stop()
	select {
	case err = <-j.finished:
	case <-limit.C:
		j.unit.fail(context.DeadlineExceeded)
		return j.unit.end(), true
	}
	if failure := j.unit.end(); err == nil {
		err = failure
	}
	return err, false
}

// undo rolls back one unit, whose savepoint stays for the next one. SQLite ends the whole transaction by itself after
// some errors, such as a full disk; then there is no savepoint left, and the other units run again.
func (g *group) undo(j *job, err error, inner bool) {
	if !inner {
		g.fail(j, err)
		return
	}
	if j.unit.saved && g.exec("ROLLBACK TO unit") != nil {
		g.fail(j, err)
		return
	}
	j.reject(g.w.owner, err)
}

// fail rolls everything back: j with its error, the others to run again by themselves.
func (g *group) fail(j *job, err error) {
	_ = g.tx.Rollback() // it fails if SQLite has rolled back already
	g.void = true
	j.reject(g.w.owner, err)
	g.repeat()
}

// repeat has the units of a transaction that is gone run again by themselves.
func (g *group) repeat() {
	for _, j := range g.ready {
		g.w.owner.stats.failed.Add(1)
		j.result <- outcome{err: errVoided(), again: true, alone: true}
	}
	g.ready = nil
}

func errVoided() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the transaction was given up for another unit of work"}
}

func (j *job) reject(d *DB, err error) {
	d.stats.failed.Add(1)
	again := IsTransient(err) || IsTransient(j.unit.failed())
	j.result <- outcome{err: err, again: again, alone: again}
}

// exec executes statements of the group itself, in one round trip on Postgres.
func (g *group) exec(queries ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), g.w.owner.cfg.UnitTimeout)
	defer cancel()
	if g.w.owner.engine == Postgres {
		queries = []string{strings.Join(queries, "; ")}
	}
	for _, query := range queries {
		var err error
		if p := g.w.kept.own(query); p != nil {
			_, err = g.tx.StmtContext(ctx, p).ExecContext(ctx)
		} else {
			_, err = g.tx.ExecContext(ctx, query)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish does the last part of all units, commits and reports the result to every unit.
func (g *group) finish() {
	defer g.release()
	if g.void {
		return
	}
	if len(g.ready) == 0 {
		if err := g.tx.Rollback(); err != nil {
			g.w.drop()
		}
		return
	}
	committed, err := g.last()
	if err != nil {
		g.failTogether(err)
		return
	}
	limit := time.AfterFunc(g.w.owner.cfg.CommitTimeout, g.kill)
	out := g.w.owner.outcomeOf(g.w.commit(g.tx), len(g.ready))
	limit.Stop()
	switch {
	case out.err == nil:
		g.w.owner.stats.group(len(g.ready))
		committed.Run()
	case out.again:
		g.repeat()
	default:
		_ = g.tx.Rollback() // it releases the connection if the commit did not
		g.w.drop()
	}
	for _, j := range g.ready {
		j.result <- out
	}
}

// release ends the transaction, if it has not ended, and gives its connection back.
func (g *group) release() {
	g.kill()
	if g.conn != nil {
		_ = g.conn.Close() // the pool has it, or it is gone
	}
}

// failTogether rolls the group back after an error of its last part. Which unit it belongs to shows when each has its
// own.
func (g *group) failTogether(err error) {
	if len(g.ready) == 1 {
		j := g.ready[0]
		g.ready = nil
		g.fail(j, err)
		return
	}
	_ = g.tx.Rollback()
	g.void = true
	g.repeat()
}

// last does what the units left for their end, in one unit of its own. On Postgres it may wait longer for its locks
// than a unit, since they are those of other groups.
func (g *group) last() (committed *tx.Hooks, err error) {
	owner := g.w.owner
	ctx, cancel := context.WithTimeout(context.Background(), owner.cfg.UnitTimeout)
	defer cancel()
	ctx, hooks := tx.WithHooks(ctx)
	if owner.engine == Postgres && len(g.ready) > 1 {
		limit := strconv.FormatInt(owner.cfg.UnitTimeout.Milliseconds(), 10)
		if err := owner.atEnd(ctx, Statement{Query: "SET LOCAL lock_timeout = " + limit}); err != nil {
			return nil, err
		}
	}
	for _, j := range g.ready {
		hooks.Join(j.hooks)
	}
	u := &unit{owner: owner}
	u.begin(g.tx, g.conn, g.w.kept)
	defer func() {
		if r := recover(); r != nil {
			err = fault.Wrap(fault.Internal, fmt.Errorf("%v\n%s", r, debug.Stack()), "the end of a unit of work panicked")
		}
		failure := u.end()
		g.ready[0].unit.fail(failure)
		err = cmp.Or(err, failure, ctx.Err())
	}()
	return hooks, hooks.Finish(context.WithValue(ctx, unitKey{owner}, u))
}
