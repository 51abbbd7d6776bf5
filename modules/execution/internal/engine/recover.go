package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	recoverWidth = 8    // runs that are settled concurrently
	maxLeftovers = 5000 // directories that one start examines
)

// recover settles the runs that this worker still holds from before the start, then the remaining directories. It
// returns false if the engine was stopped before the end.
func (e *Engine) recover() bool {
	e.forgetSecrets()
	leased, ok := e.leasedRuns()
	if !ok {
		return false
	}
	e.parallel(len(leased), func(i int) { e.settleLeased(leased[i]) })
	left, err := rundir.Leftovers(e.root())
	if err != nil {
		e.Log.Error("look for what earlier runs left", "error", err)
	}
	left = left[:min(len(left), maxLeftovers)]
	e.parallel(len(left), func(i int) { e.settleLeftover(left[i]) })
	if err := rundir.DropOrphans(e.root()); err != nil {
		e.Log.Error("clear up what earlier runs spooled", "error", err)
	}
	return e.claiming.Err() == nil
}

// forgetSecrets removes the secrets of credentials from the directories of earlier runs. It does not wait for the
// plane: the rest of those directories may have to remain until the plane answers.
func (e *Engine) forgetSecrets() {
	left, err := rundir.Leftovers(e.root())
	if err != nil {
		e.Log.Error("look for what earlier runs left", "error", err)
	}
	left = left[:min(len(left), maxLeftovers)]
	e.parallel(len(left), func(i int) {
		s := left[i].State()
		if s.Worker != e.opt.Worker || !s.Secret {
			return
		}
		if s.Begun {
			e.reap(s.RunID)
		}
		if err := left[i].Strip(); err != nil {
			e.Log.Error("remove the secrets of an earlier run", "run", s.RunID, "error", err)
		}
	})
}

// leasedRuns requests the runs that this worker holds, until the plane answers.
func (e *Engine) leasedRuns() ([]*runs.Run, bool) {
	var pause output.Backoff
	for e.claiming.Err() == nil {
		ctx, cancel := context.WithTimeout(e.hard, planeTimeout)
		list, err := e.Plane.Leased(ctx, e.opt.Worker)
		cancel()
		if err == nil {
			return list, true
		}
		e.Log.Warn("ask for the runs of an earlier life", "error", err)
		pause.Wait(e.claiming)
	}
	return nil, false
}

func (e *Engine) parallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, recoverWidth)
	for i := range n {
		free <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-free; wg.Done() }()
			do(i)
		}()
	}
	wg.Wait()
}

// settleLeased ends or releases one run that this worker held when it stopped.
func (e *Engine) settleLeased(r *runs.Run) {
	l := runs.Lease{RunID: r.ID, Worker: e.opt.Worker, Epoch: r.Epoch}
	dir, err := rundir.Of(e.root(), l)
	if err != nil {
		e.Log.Error("settle a run of an earlier life", "run", r.ID, "error", err)
		return
	}
	e.reap(r.ID)
	end := dir.State().Ending
	if end == nil && !r.Begun {
		err = e.retry(r.ID, func(ctx context.Context) error { return e.Plane.Release(ctx, l) })
	} else {
		err = e.replay(dir, l, end, r)
	}
	switch {
	case err == nil:
		e.clear(dir)
	case output.Refused(err):
		e.abandonDir(dir, r.ID)
	default:
		e.Log.Warn("a run of an earlier life is left", "run", r.ID, "error", err)
	}
}

func (e *Engine) reap(runID string) {
	ctx, cancel := context.WithTimeout(e.hard, e.opt.KillGrace+planeTimeout)
	defer cancel()
	n, err := e.Reaper.Reap(ctx, runID)
	if err != nil {
		e.Log.Error("end what a run left running", "run", runID, "error", err)
	} else if n > 0 {
		e.Log.Warn("processes of an earlier run were ended", "run", runID, "processes", n)
	}
}

// replay stores the spooled data and then the ending, which is an interruption if none was stored.
func (e *Engine) replay(dir rundir.Dir, l runs.Lease, end *runs.Ending, r *runs.Run) error {
	next, holes, err := e.replayLog(dir, l)
	if err != nil {
		return err
	}
	if err := e.replayEvents(dir, l); err != nil {
		return err
	}
	if end == nil {
		end = &runs.Ending{Status: runs.Interrupted, Error: errKilled.Error(), LogBytes: next, StartedAt: r.StartedAt,
			EndedAt: e.Clock.Now()}
	}
	count(end, next, r.LogOmitted+holes)
	return e.deliver(l, e.renumber(l, *end))
}

// count sets the missing part of the log: the known part, and the part that was lost with the process's memory.
func count(end *runs.Ending, next, missing int64) {
	if n := int64(len(end.Log.Data)); n > 0 {
		missing += max(0, end.Log.Offset-next)
		next = max(next, end.Log.Offset+n)
	}
	missing += max(0, end.LogBytes-next)
	end.LogOmitted = max(end.LogOmitted, missing)
}

// replayLog sends the spooled output and returns the offset after it, with the number of bytes that were in no spool.
func (e *Engine) replayLog(dir rundir.Dir, l runs.Lease) (next, holes int64, err error) {
	send := func(c runs.LogChunk) error {
		return e.retry(l.RunID, func(ctx context.Context) error {
			got, err := e.Plane.AppendLog(ctx, l, c)
			if err == nil {
				next = max(next, got)
			}
			return err
		})
	}
	if err = send(runs.LogChunk{}); err != nil {
		return 0, 0, fmt.Errorf("ask where the log ends: %w", err)
	}
	err = spool.ReadLog(dir.LogSpool(), func(off int64, data []byte) error {
		if off+int64(len(data)) <= next {
			return nil
		}
		holes += max(0, off-next)
		return send(runs.LogChunk{Offset: off, Data: data})
	})
	return next, holes, err
}

// replayEvents sends the spooled events. If events before them were lost, it assigns their numbers anew, since no
// reader has received them.
func (e *Engine) replayEvents(dir rundir.Dir, l runs.Lease) error {
	next, err := e.nextEvent(l)
	if err != nil {
		return err
	}
	var batch []runs.Event
	flush := func() error {
		part := batch
		batch = nil
		if len(part) == 0 {
			return nil
		}
		return e.retry(l.RunID, func(ctx context.Context) error {
			if _, err := e.Plane.AppendEvents(ctx, l, part); err != nil {
				return err
			}
			return output.SaveFacts(ctx, e.Plane, l, part)
		})
	}
	err = spool.ReadEvents(dir.EventSpool(), func(ev runs.Event) error {
		if ev.Seq < next {
			return nil
		}
		ev.Seq = next
		next++
		if batch = append(batch, ev); len(batch) < 500 {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}

func (e *Engine) nextEvent(l runs.Lease) (next int64, err error) {
	err = e.retry(l.RunID, func(ctx context.Context) error {
		var err error
		next, err = e.Plane.AppendEvents(ctx, l, nil)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ask where the events end: %w", err)
	}
	return next, nil
}

// renumber closes the gap before the events of an ending, if events before them were lost with the process.
func (e *Engine) renumber(l runs.Lease, end runs.Ending) runs.Ending {
	if len(end.Events) == 0 {
		return end
	}
	if next, err := e.nextEvent(l); err == nil && end.Events[0].Seq > next {
		for i := range end.Events {
			end.Events[i].Seq = next + int64(i)
		}
	}
	return end
}

// settleLeftover removes a directory of this worker whose run it does not hold. A run that began has ended: its
// processes must not continue. Unstored data stays as evidence.
func (e *Engine) settleLeftover(dir rundir.Dir) {
	s := dir.State()
	if s.Worker != e.opt.Worker || e.hard.Err() != nil {
		return
	}
	if s.Begun {
		e.reap(s.RunID)
	}
	if dir.Unsent() {
		e.abandonDir(dir, s.RunID)
		return
	}
	e.clear(dir)
}

func (e *Engine) clear(dir rundir.Dir) {
	if err := dir.Remove(); err != nil {
		e.Log.Warn("clear up after an earlier run", "error", err)
	}
}
