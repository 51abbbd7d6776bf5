package work

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// errOmitted says that part of the output was not kept, so that the holder's digest is not that of what is.
var errOmitted = errors.New("part of the output was not kept")

// seal is what the output of a run with gaps comes to.
type seal struct {
	sha      string
	total    int64
	omitted  int64
	warnings []runs.Warning
}

// Finish implements runs.Worklist. A run whose output has a gap takes two units, since its digest is made of
// what is stored, and reading that has no place in one.
func (w *Worklist) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	switch e.Status {
	case runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted:
	default:
		return fault.BadField("status", "%q is not how an execution ends", e.Status)
	}
	err := w.finish(ctx, l, &e, nil)
	if errors.Is(err, errOmitted) {
		err = w.finishSealed(ctx, l, e)
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

// finish ends the run in one unit. The transition comes last, so that its status event follows every other.
func (w *Worklist) finish(ctx context.Context, l runs.Lease, e *runs.Ending, s *seal) error {
	return w.machine.Do(ctx, func(ctx context.Context) error {
		if s == nil {
			if err := w.lastLog(ctx, l, e); err != nil {
				return err
			}
		}
		if len(e.Events) > 0 {
			if _, err := w.journal.events.AppendEvents(ctx, l, e.Events); err != nil {
				return err
			}
		}
		if err := w.summaries(ctx, l, e); err != nil {
			return err
		}
		_, err := w.machine.Move(ctx, w.move(l, e, s))
		return err
	})
}

// lastLog stores the rest of the output. It is errOmitted where that leaves, or left, a gap.
func (w *Worklist) lastLog(ctx context.Context, l runs.Lease, e *runs.Ending) error {
	if e.LogBytes == 0 && len(e.Log.Data) == 0 {
		return nil
	}
	c := e.Log
	if len(c.Data) == 0 {
		c = runs.LogChunk{} // stores nothing and tells how far the log has come
	}
	state, err := w.journal.logs.AppendLog(ctx, l, c)
	if err != nil {
		return err
	}
	if state.Omitted > 0 || state.Next > w.journal.cap || e.LogBytes > state.Next {
		return errOmitted
	}
	e.LogBytes = state.Next
	return nil
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

func (w *Worklist) move(l runs.Lease, e *runs.Ending, s *seal) runs.Move {
	started, ended := times(e, w.machine.Now())
	mv := runs.Move{
		ID: l.RunID, From: runs.Running, To: e.Status, At: ended, StartedAt: started, Lease: &l,
		ExitCode: e.ExitCode, Error: e.Error, Warnings: e.Warnings, Outputs: e.Outputs, Commit: e.Commit,
		Counts: e.Counts, Touched: e.Touched, LogBytes: e.LogBytes, LogSHA256: e.LogSHA256,
	}
	if s != nil {
		mv.LogBytes, mv.Omitted, mv.LogSHA256 = s.total, s.omitted, s.sha
		mv.Warnings = append(mv.Warnings[:len(mv.Warnings):len(mv.Warnings)], s.warnings...)
	}
	return mv
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

// finishSealed stores the rest of the output first, then ends the run with the digest of what is kept.
func (w *Worklist) finishSealed(ctx context.Context, l runs.Lease, e runs.Ending) error {
	if len(e.Log.Data) > 0 {
		if _, err := w.journal.AppendLog(ctx, l, e.Log); err != nil {
			return err
		}
	}
	r, err := w.machine.Store.ByID(ctx, l.RunID)
	if err != nil {
		return err
	}
	sha, err := w.journal.Digest(ctx, l.RunID, r.LogBytes)
	if err != nil {
		return err
	}
	s := seal{sha: sha, total: max(e.LogBytes, r.LogBytes)}
	s.omitted = r.LogOmitted + s.total - r.LogBytes
	if s.omitted > 0 && !hasWarning(r.Warnings, runs.WarnLogTruncated) && !hasWarning(e.Warnings, runs.WarnLogTruncated) {
		s.warnings = []runs.Warning{truncated(s.omitted)}
	}
	return w.finish(ctx, l, &e, &s)
}
