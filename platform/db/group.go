package db

import (
	"context"
	"runtime"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
)

// group is one transaction of the writer and the units that share it.
type group struct {
	w     *writer
	tx    bun.Tx
	ready []*job // ran without an error and wait for the commit
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
// savepoint: its changes are undone with the transaction.
func (g *group) run(j *job) {
	if !j.taken.CompareAndSwap(false, true) {
		return
	}
	inner := len(g.ready) > 0
	if inner {
		if err := g.exec("SAVEPOINT unit"); err != nil {
			g.fail(j, err)
			return
		}
	}
	j.unit.begin(g.tx, g.w.kept)
	close(j.start)
	err, stalled := g.takeBack(j)
	if stalled {
		g.w.owner.stats.stalled.Add(1)
		g.fail(j, fault.Wrap(fault.Unavailable, err, "the unit of work took too long"))
		return
	}
	if err == nil && inner {
		if err := g.exec("RELEASE unit"); err != nil {
			g.fail(j, err)
			return
		}
	}
	if err == nil {
		g.ready = append(g.ready, j)
		return
	}
	g.undo(j, err, inner)
}

// takeBack waits for the function of the unit, which its caller runs, and closes the unit.
func (g *group) takeBack(j *job) (err error, stalled bool) {
	limit := time.NewTimer(g.w.owner.cfg.UnitTimeout + stallGrace)
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

// undo rolls back one unit. SQLite ends the whole transaction by itself after some errors, such as a full disk; then
// there is no savepoint left, and the other units run again.
func (g *group) undo(j *job, err error, inner bool) {
	if !inner {
		g.fail(j, err)
		return
	}
	if g.exec("ROLLBACK TO unit") != nil || g.exec("RELEASE unit") != nil {
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
	for _, other := range g.ready {
		g.w.owner.stats.failed.Add(1)
		other.result <- outcome{err: errVoided(), again: true, alone: true}
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

func (g *group) exec(query string) error {
	if stmt := g.w.kept.find(query); stmt != nil {
		_, err := g.tx.StmtContext(context.Background(), stmt).ExecContext(context.Background())
		return err
	}
	_, err := g.tx.ExecContext(context.Background(), query)
	return err
}

// finish commits and reports the result to every unit.
func (g *group) finish() {
	if g.void {
		return
	}
	if len(g.ready) == 0 {
		if err := g.tx.Rollback(); err != nil {
			g.w.drop()
		}
		return
	}
	var out outcome
	if err := g.w.commit(g.tx); err != nil {
		g.w.owner.stats.commitErrors.Add(1)
		g.w.owner.log.Error("commit", "units", len(g.ready), "error", err)
		out.err = OutcomeUnknown.New("the database did not confirm the change; it may have been made or not").Because(err)
		_ = g.tx.Rollback() // it releases the connection if the commit did not
		g.w.drop()
	} else {
		g.w.owner.stats.group(len(g.ready))
	}
	for _, j := range g.ready {
		j.result <- out
	}
}
