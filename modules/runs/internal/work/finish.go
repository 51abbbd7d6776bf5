package work

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// refolds bounds how often a journal that goes on meanwhile is folded for one ending. Its holder alone writes it, and
// ends the run when it has written all.
const refolds = 5

// What the run left is digested from what is stored: a short run's in the one unit that ends it, a long one's before,
// since long reading has no place in one. Output with a gap is stored whole first, in a unit of its own.
func (w *Worklist) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	switch e.Status {
	case runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted:
	default:
		return fault.BadField("status", "%q is not how an execution ends", e.Status)
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
		return fault.Wrap(fault.Unavailable, err, "the run's journal does not come to rest")
	}
	if (runs.LeaseLost.Is(err) || runs.RunStateChanged.Is(err)) && w.ended(ctx, l, e.Status) {
		return nil
	}
	if err == nil {
		w.journal.watchers.ShowLog(l.RunID, e.Log)
		w.journal.watchers.ShowEvents(l.RunID, e.Events)
	}
	return err
}

// ended reports whether the run ended this way under this very lease.
func (w *Worklist) ended(ctx context.Context, l runs.Lease, as runs.Status) bool {
	r, err := w.machine.Store.ByID(ctx, l.RunID)
	return err == nil && r.Status == as && r.Epoch == l.Epoch && (r.Worker == l.Worker || r.Worker == "")
}

// finish ends the run in one unit. The transition comes last, so that its status event follows every other. It is
// ErrBehind where the journal holds what was not folded.
func (w *Worklist) finish(ctx context.Context, l runs.Lease, e *runs.Ending, f *folded) error {
	return w.machine.Do(ctx, func(ctx context.Context) error {
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
		r, err := w.machine.MoveAhead(ctx, w.move(l, e, s), &a)
		if err == nil && r.LogBytes != s.total {
			return lifecycle.ErrBehind // the holder stored output that its ending does not tell of
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

// move is the transition of an ending. What is missing of the output is judged by what is stored, not by what the
// holder says.
func (w *Worklist) move(l runs.Lease, e *runs.Ending, s *seal) runs.Move {
	started, ended := times(e, w.machine.Now())
	return runs.Move{
		ID: l.RunID, From: runs.Running, To: e.Status, At: ended, StartedAt: started, Lease: &l,
		ExitCode: e.ExitCode, Error: e.Error, Warnings: append(without(e.Warnings, runs.WarnLogTruncated), s.warnings...),
		Outputs: e.Outputs, Commit: e.Commit, Counts: e.Counts, Touched: e.Touched,
		LogBytes: s.total, Omitted: s.omitted, LogSHA256: s.sha, Isolation: e.Isolation,
	}
}

// times takes the holder's clock for how long the run took, unless it is ahead of ours.
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
