package work

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// refolds bounds how often one ending folds a growing journal. Only the holder writes the journal, and it ends the
// run after its last write, so that a few rounds are enough.
const refolds = 5

// Finish computes the digests from the stores. It reads a short run's data in the unit that ends the run, and a long
// run's before that unit, since a unit should be short. If the output has a gap, its rest is stored first, in a unit
// of its own.
func (w *Worklist) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	switch e.Status {
	case runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted:
	default:
		return fault.BadField("status", "%q is not a final status of an execution", e.Status)
	}
	f, err := w.look(ctx, l, &e)
	if err == nil {
		err = w.finish(ctx, l, &e, f)
	}
	for n := 0; errors.Is(err, lifecycle.ErrBehind) && n < refolds; n++ {
		if f, err = w.foldAll(ctx, l, &e); err == nil {
			err = w.finish(ctx, l, &e, f)
		}
	}
	if errors.Is(err, lifecycle.ErrBehind) {
		return fault.Wrap(fault.Unavailable, err, "the run's journal keeps changing; try again")
	}
	if (runs.LeaseLost.Is(err) || runs.RunStateChanged.Is(err)) && w.ended(ctx, l, &e) {
		return nil
	}
	if err == nil {
		w.known.drop(l)
		w.journal.watchers.ShowLog(l.RunID, e.Log)
		w.journal.watchers.ShowEvents(l.RunID, e.Events)
	}
	return err
}

// ended reports whether the run ended this way under this lease.
func (w *Worklist) ended(ctx context.Context, l runs.Lease, e *runs.Ending) bool {
	r, err := w.machine.Store.ByID(ctx, l.RunID)
	if err != nil || r.Epoch != l.Epoch || r.Worker != l.Worker && r.Worker != "" {
		return false
	}
	mv := runs.Move{To: e.Status}
	lifecycle.FailOn(r, &mv)
	return r.Status == mv.To
}

// finish ends the run in one unit. The transition comes last, so that its status event follows every other. It
// returns ErrBehind if the journal holds entries that were not folded.
func (w *Worklist) finish(ctx context.Context, l runs.Lease, e *runs.Ending, f *folded) error {
	return w.machine.Do(tx.Optimistic(ctx), func(ctx context.Context) error {
		s, err := w.lastLog(ctx, l, e, f)
		if err != nil {
			return err
		}
		if len(e.Events) > 0 {
			if _, err := w.journal.events.AppendEvents(ctx, l, e.Events); err != nil {
				return err
			}
		}
		if err := w.summaries(ctx, l, e); err != nil {
			return err
		}
		a := f.ahead
		a.Most = int64(lifecycle.FewEvents + len(e.Events))
		mv := w.move(l, e, s)
		if err := w.failOn(ctx, &mv); err != nil {
			return err
		}
		r, err := w.machine.MoveAhead(ctx, mv, &a)
		if err == nil && r.LogBytes != s.total {
			return lifecycle.ErrBehind // the holder stored output that its ending does not count
		}
		return err
	})
}

func (w *Worklist) summaries(ctx context.Context, l runs.Lease, e *runs.Ending) error {
	if len(e.Hosts) > 0 {
		if err := w.journal.summaries.SaveHosts(ctx, l.RunID, e.Hosts); err != nil {
			return err
		}
	}
	if len(e.Tasks) > 0 {
		return w.journal.summaries.SaveTasks(ctx, l.RunID, e.Tasks)
	}
	return nil
}

// failOn applies what the run fails on. It reads the record only if the claim did not say that this is no warning.
func (w *Worklist) failOn(ctx context.Context, mv *runs.Move) error {
	if mv.To != runs.Succeeded || w.known.lenient(*mv.Lease) {
		return nil
	}
	r, err := w.machine.Store.ByID(ctx, mv.ID)
	if err == nil {
		lifecycle.FailOn(r, mv)
	}
	return err
}

// move returns the transition of an ending. The store, not the holder, decides how much output is missing. Outputs with
// reserved names are dropped for every executor.
func (w *Worklist) move(l runs.Lease, e *runs.Ending, s *seal) runs.Move {
	started, ended := times(e, w.machine.Now())
	outputs, dropped := e.Outputs.StripReserved()
	warnings := append(without(e.Warnings, runs.WarnLogTruncated), s.warnings...)
	if len(dropped) > 0 {
		warnings = append(warnings, runs.ReservedDropped("the outputs", reserved.Paths(dropped)))
	}
	return runs.Move{
		ID: l.RunID, From: runs.Running, To: e.Status, At: ended, StartedAt: started, Lease: &l,
		ExitCode: e.ExitCode, Error: e.Error, Warnings: warnings,
		Outputs: outputs, Commit: e.Commit, ToolVersion: e.ToolVersion, Counts: e.Counts, Touched: e.Touched,
		LogBytes: s.total, Omitted: s.omitted, LogSHA256: s.sha, Isolation: e.Isolation,
		AcceptedHostKeys: e.AcceptedHostKeys,
	}
}

// times returns the times of the holder's clock. If that clock is ahead of the server's, both are shifted back.
func times(e *runs.Ending, now time.Time) (started, ended time.Time) {
	started, ended = utc(e.StartedAt), utc(e.EndedAt)
	if ended.IsZero() || ended.After(now) {
		if !ended.IsZero() && !started.IsZero() {
			started = started.Add(now.Sub(ended))
		}
		ended = now
	}
	if started.After(ended) {
		started = ended
	}
	return started, ended
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}
