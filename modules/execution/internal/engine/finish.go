package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/modules/execution/internal/summary"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	maxError     = 4 << 10
	summaryBatch = 5000 // further summaries are stored before the ending, in batches
)

// ending returns the ending for the result of the tool's call. The first cause from outside takes precedence.
func (w *work) ending(out outcome, cause error, limit time.Duration) runs.Ending {
	end := runs.Ending{Warnings: append(w.mask(out.Warnings), w.material.warnings...)}
	if out.err == nil {
		end.ExitCode = &out.ExitCode
	}
	switch {
	case cause == errCanceled:
		end.Status = runs.Canceled
	case cause == errHandedBack: // the stop came while the beginning was recorded
		end.Status, end.Error = runs.Interrupted, errStopped.Error()
	case cause == errTimeout:
		end.Status, end.Error = runs.Failed, overTime(limit)
	case cause != nil:
		end.Status, end.Error = runs.Interrupted, cause.Error()
	case w.exceeded() != "": // the tool may have ended well without what the kernel ended
		end.Status, end.Error = runs.Failed, w.exceeded()
	case out.err != nil:
		end.Status, end.Error = runs.Failed, "the tool could not be run: "+out.err.Error()
	case out.ExitCode != 0:
		end.Status, end.Error = runs.Failed, cmp.Or(out.Error, exitText(w.run.Spec.Tool, out.ExitCode))
	default:
		end.Status, end.Error = runs.Succeeded, out.Error
	}
	end.Error = w.text(end.Error)
	if w.asked {
		for _, text := range w.e.Secrets.Warnings(w.owner()) {
			end.Warnings = append(end.Warnings, runs.Warning{Code: runs.WarnSecretNotRenewed, Message: w.text(text)})
		}
	}
	if w.enclosed != nil {
		end.Isolation = w.enclosed.Isolation()
	}
	w.summarize(&end, out, cause)
	w.outputs(&end)
	w.accepted(&end)
	w.warnLeftOut(&end)
	return end
}

// exceeded returns the limit at which the kernel ended the run.
func (w *work) exceeded() string {
	if w.enclosed == nil {
		return ""
	}
	return w.enclosed.Exceeded()
}

func overTime(limit time.Duration) string {
	return fmt.Sprintf("the run was over its timeout of %s s", fmt.Sprint(limit.Seconds()))
}

func exitText(tool string, code int) string {
	switch {
	case code > 128 && code < 128+65:
		return fmt.Sprintf("%s was ended by signal %d", tool, code-128)
	default:
		return fmt.Sprintf("%s ended with exit code %d", tool, code)
	}
}

// text masks and shortens a sentence for the record.
func (w *work) text(s string) string {
	s = w.masker.String(s)
	return s[:min(len(s), maxError)]
}

func (w *work) mask(list []runs.Warning) []runs.Warning {
	out := make([]runs.Warning, 0, len(list))
	for _, x := range list {
		out = append(out, runs.Warning{Code: x.Code, Message: w.text(x.Message)})
	}
	return out
}

// failed returns the ending of a run whose tool never started.
func (w *work) failed(reason string) runs.Ending {
	return runs.Ending{Status: runs.Failed, Error: w.text(reason)}
}

// summarize adds the run's results on its hosts.
func (w *work) summarize(end *runs.Ending, out outcome, cause error) {
	if !out.play {
		return
	}
	sum := w.sink.Summary()
	end.Hosts, end.Tasks = sum.Hosts(out.Complete && cause == nil), sum.Tasks()
	end.Counts = summary.Counts(end.Hosts)
	end.Touched, end.ToolVersion = max(out.Touched, sum.Touched()), w.text(out.Version)
	if end.Touched == 0 && end.Status == runs.Succeeded {
		end.Warnings = noHosts(end.Warnings)
	}
	if n := end.Counts[runs.HostUnreachable]; n > 0 {
		end.Warnings = warn(end.Warnings, runs.WarnHostsUnreachable, "%d hosts could not be reached", n)
	}
	if n := w.sink.NoFacts(); n > 0 {
		end.Warnings = warn(end.Warnings, runs.WarnFactsNotKept, "facts larger than %d bytes are not kept; readings: %d",
			runs.MaxFacts, n)
	}
	if n := w.sink.Dropped(); n > 0 {
		end.Warnings = warn(end.Warnings, runs.WarnOutputFlood, "%d events beyond the first %d are not kept", n,
			w.e.opt.MaxEvents)
	}
}

// outputs adds the outputs that the run set, by events and by its file; the file takes precedence.
func (w *work) outputs(end *runs.Ending) {
	set, err := w.sink.Outputs()
	if err != nil {
		end.Warnings = warn(end.Warnings, runs.WarnOutputsUnreadable, "%s", w.text(err.Error()))
	}
	file, err := w.dir.ReadOutputs()
	if err != nil {
		end.Warnings = warn(end.Warnings, runs.WarnOutputsUnreadable, "%s", w.text(err.Error()))
	}
	masked := make(runs.Vars, len(file))
	for k, raw := range file {
		masked[w.masker.String(k)] = w.masker.JSON(raw)
	}
	end.Outputs = set.Merge(masked)
}

// warn adds a warning unless the list has one with its code.
func warn(list []runs.Warning, code, format string, args ...any) []runs.Warning {
	if runs.HasWarning(list, code) {
		return list
	}
	return append(list, runs.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}

func noHosts(list []runs.Warning) []runs.Warning {
	return warn(list, runs.WarnNoHostsMatched, "no host was touched")
}

// settle stores how the run ended, with everything that was not stored before, and cleans up. From here on the ending
// is on disk, so that it survives this process.
func (w *work) settle(end runs.Ending) {
	w.exited.Store(true)
	w.strip()
	w.log.Close()
	w.pump.Stop()
	w.seal(&end)
	if !w.pump.Small() && !w.lost.Load() {
		w.lines.Persist()
		w.steps.Persist()
		w.saveEnding(&end)
		if !w.pump.Drain(w.e.hard) && !w.lost.Load() {
			return // the next start sends the rest
		}
		w.seal(&end)
	}
	var err error
	if end.Log, end.Events, err = w.pump.Rest(); err != nil {
		w.e.Log.Error("read what a run said", "run", w.lease.RunID, "error", err)
	}
	w.saveEnding(&end)
	if w.lost.Load() {
		w.lines.Persist()
		w.steps.Persist()
		w.abandonDir()
		return
	}
	w.e.crash("before-finish")
	switch err := w.e.deliver(w.lease, end); {
	case err == nil:
		w.e.crash("after-finish")
		w.discard()
	case output.Refused(err):
		w.e.Log.Warn("end a run", "run", w.lease.RunID, "error", err)
		w.abandonDir()
	default:
		w.e.Log.Warn("the end of a run is left to the next start", "run", w.lease.RunID, "error", err)
	}
}

// seal sets the totals of the whole log.
func (w *work) seal(end *runs.Ending) {
	end.EndedAt = w.e.Clock.Now()
	end.LogBytes, end.LogOmitted = w.lines.Total()
	end.LogSHA256 = w.log.Sum()
}

func (w *work) saveEnding(end *runs.Ending) {
	if err := w.dir.SaveEnding(end); err != nil {
		w.e.Log.Error("keep the end of a run on disk", "run", w.lease.RunID, "error", err)
	}
}

// discard removes the run's directory.
func (w *work) discard() {
	w.stopAgent()
	if err := w.dir.Remove(); err != nil {
		w.e.Log.Warn("clear up after a run", "run", w.lease.RunID, "error", err)
	}
}

// abandonDir moves the unstored data of a lost run to the evidence, if there is any.
func (w *work) abandonDir() {
	w.stopAgent()
	w.e.abandonDir(w.dir, w.lease.RunID)
}

func (e *Engine) abandonDir(dir rundir.Dir, runID string) {
	e.Log.Warn("the lease of a run is lost; nothing more is written", "run", runID)
	err := error(nil)
	if dir.Unsent() {
		err = dir.MoveToLost()
	} else {
		err = dir.Remove()
	}
	if err != nil {
		e.Log.Warn("keep a lost run", "run", runID, "error", err)
	}
}

// deliver stores an ending. It retries until the ending is stored, refused, or the engine stops retrying.
func (e *Engine) deliver(l runs.Lease, end runs.Ending) error {
	hosts, tasks := end.Hosts, end.Tasks
	if len(hosts) > summaryBatch {
		end.Hosts = nil
	}
	if len(tasks) > summaryBatch {
		end.Tasks = nil
	}
	return e.retry(l.RunID, func(ctx context.Context) error {
		if err := e.deliverFacts(ctx, l, &end); err != nil {
			return err
		}
		if end.Hosts == nil {
			for part := range slices.Chunk(hosts, summaryBatch) {
				if err := e.Plane.SaveHosts(ctx, l, part); err != nil {
					return fmt.Errorf("store the hosts: %w", err)
				}
			}
		}
		if end.Tasks == nil {
			for part := range slices.Chunk(tasks, summaryBatch) {
				if err := e.Plane.SaveTasks(ctx, l, part); err != nil {
					return fmt.Errorf("store the tasks: %w", err)
				}
			}
		}
		if err := e.Plane.Finish(ctx, l, end); err != nil {
			return fmt.Errorf("finish: %w", err)
		}
		return nil
	})
}

// deliverFacts stores the facts of an ending after the events with the results of their hosts: a plane may refuse
// facts of other hosts.
func (e *Engine) deliverFacts(ctx context.Context, l runs.Lease, end *runs.Ending) error {
	if !output.HasFacts(end.Events) {
		return nil
	}
	if _, err := e.Plane.AppendEvents(ctx, l, end.Events); err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	if err := output.SaveFacts(ctx, e.Plane, l, end.Events); err != nil {
		return err
	}
	end.Events = nil
	return nil
}

// retry calls the plane until it accepts the call, refuses it, or the engine stops retrying.
func (e *Engine) retry(runID string, call func(ctx context.Context) error) error {
	var pause output.Backoff
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.hard), planeTimeout)
		err := call(ctx)
		cancel()
		if err == nil || output.Refused(err) {
			return err
		}
		e.Log.Warn("the control plane did not take a call", "run", runID, "error", err)
		if !pause.Wait(e.hard) {
			return err
		}
	}
}
