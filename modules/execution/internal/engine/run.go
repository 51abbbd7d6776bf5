package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/secrets"
)

// work is a job in execution with its outputs.
type work struct {
	*job
	e        *Engine
	enclosed execution.Enclosure // nil without a boundary
	refused  error               // why the run gets no boundary and is not executed
	dir      rundir.Dir
	tool     extension.ToolRunner
	spec     extension.ToolSpec
	masker   *mask.Masker
	lines    *spool.Log
	steps    *spool.Events
	material material
	hostKeys hostKeys
	secrets  rundir.Secrets
	agent    secrets.Agent // nil for none
	log      *output.Log
	sink     *output.Sink
	pump     *output.Pump
}

// execute executes an assignment to its end. It returns false if this executor could not begin the run and released
// it.
func (e *Engine) execute(a *runs.Assignment) bool {
	j := e.enter(a)
	defer e.revoke(j) // when the job has left this executor
	defer e.leave(j)
	e.crash("after-claim")
	if e.claiming.Err() != nil {
		e.release(j)
		return true
	}
	w, err := e.prepare(j)
	if err != nil {
		e.Log.Error("prepare a run", "run", j.lease.RunID, "error", err)
		e.release(j)
		return false
	}
	defer w.close()
	w.tool, err = e.provide(j.run)
	if err = cmp.Or(w.refused, err); err != nil {
		w.openOutputs(nil)
		w.settle(w.failed(err.Error()))
		return true
	}
	if ok, ended := w.equip(); !ok {
		return ended
	}
	if j.run.Kind == runs.Split {
		w.divide()
		return true
	}
	return w.perform()
}

// prepare makes the run's directory. It waits for no other component.
func (e *Engine) prepare(j *job) (*work, error) {
	vars, err := decode(j.run.Vars)
	if err != nil {
		return nil, fmt.Errorf("read the run's variables: %w", err)
	}
	w := &work{job: j, e: e}
	owner, err := w.enter()
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Create(e.root(), j.lease, j.run.Vars, owner)
	if err != nil {
		return nil, errors.Join(err, w.leave())
	}
	w.dir = dir
	w.spec = extension.ToolSpec{
		Command: j.run.Spec.Command, DryRun: j.run.Spec.OnlyChecks(), ExtraVars: vars,
		Env: dir.Env(e.base, j.run, rundir.Secrets{}), Dir: dir.Work(), PlanDigest: j.run.Spec.PlanDigest,
	}
	if j.run.Spec.InventoryID == "" {
		if err := w.bringHostKeys(catalog.InventoryText{}); err != nil {
			return nil, errors.Join(err, dir.Remove(), w.leave())
		}
	}
	return w, nil
}

// enter takes a boundary for the run and returns who owns its files. Only runs of one project share caches, or those
// without a project of one account.
func (w *work) enter() (rundir.Owner, error) {
	if w.e.Boundary == nil {
		return rundir.Owner{}, nil
	}
	scope := "run " + w.run.ID
	switch {
	case w.run.Spec.ProjectID != "":
		scope = "project " + w.run.Spec.ProjectID
	case w.run.Actor.ID != "": // a worker over the relay does not know it
		scope = "account " + w.run.Actor.ID
	}
	chosen, err := w.e.Boundary.Choose(cmp.Or(w.run.Spec.Queue, runs.DefaultQueue), w.run.Spec.IsolationProfile)
	if execution.ProfileRefused.Is(err) {
		w.refused = err
		return rundir.Owner{}, nil
	}
	if err != nil {
		return rundir.Owner{}, err
	}
	enclosed, err := chosen.Enter(scope)
	if err != nil {
		return rundir.Owner{}, err
	}
	w.enclosed = enclosed
	uid, gid, _ := enclosed.Owner()
	return rundir.Owner{UID: uid, GID: gid}, nil
}

// leave gives the boundary back, when the run's directory is removed.
func (w *work) leave() error {
	if w.enclosed == nil {
		return nil
	}
	return w.enclosed.Close()
}

// inside returns a context for calls of the tool.
func (w *work) inside(ctx context.Context) context.Context {
	if w.enclosed == nil {
		return ctx
	}
	show := []string{w.material.deps.Roles, w.material.deps.Collections}
	if w.agent != nil {
		show = append(show, filepath.Dir(w.agent.Socket()))
	}
	return w.enclosed.Inside(ctx, w.dir.Files(), show...)
}

// openOutputs opens all outputs, once the secrets to mask are known. It does not wait for the plane.
func (w *work) openOutputs(hidden []string) {
	e, j, dir := w.e, w.job, w.dir
	w.masker = mask.New(append(append(j.run.Vars.Secrets(), e.hidden...), hidden...))
	w.lines = spool.NewLog(dir.LogSpool(), e.opt.LogCap)
	w.steps = spool.NewEvents(dir.EventSpool(), e.opt.EventSpool)
	w.pump = output.NewPump(e.hard, e.Plane, j.lease, w.lines, w.steps, output.Hooks{Lost: w.giveUp, Failed: w.warnSend})
	w.log = output.NewLog(j.lease.RunID, w.masker, e.Live, w.lines, w.pump.LogGrew)
	w.sink = output.NewSink(w.masker, w.steps, e.Clock, j.next, e.opt.MaxEvents, w.pump.EventsGrew)
}

// close releases the run's resources. The directory is removed by then, or stays as evidence.
func (w *work) close() {
	w.stopAgent()
	if err := w.leave(); err != nil {
		w.e.Log.Warn("leave the boundary of a run", "run", w.lease.RunID, "error", err)
	}
	if w.pump == nil {
		return
	}
	w.pump.Stop()
	w.lines.Close()
	w.steps.Close()
}

// giveUp is called when the plane refuses the run's reports.
func (w *work) giveUp() {
	w.lost.Store(true)
	w.cancel(errLost)
	w.steps.Abort()
}

func (w *work) warnSend(err error) {
	w.e.Log.Warn("store what a run says", "run", w.lease.RunID, "error", err)
}

// provide finds the run's tool. A run that requires something this executor cannot provide is refused rather than
// executed without it.
func (e *Engine) provide(r *runs.Run) (extension.ToolRunner, error) {
	tool := e.Tools[r.Spec.Tool]
	switch {
	case tool == nil:
		return nil, fmt.Errorf("this executor has no tool %q", r.Spec.Tool)
	case r.Spec.ProjectID != "" && e.Materials == nil:
		return nil, fmt.Errorf("%w: project %s", errUnsupported, r.Spec.ProjectID)
	case len(r.Spec.CredentialIDs) > 0 && e.Secrets == nil:
		return nil, fmt.Errorf("%w: credential %s", errUnsupported, r.Spec.CredentialIDs[0])
	case r.Spec.InventoryID != "" && e.Materials == nil:
		return nil, fmt.Errorf("%w: inventory %s", errUnsupported, r.Spec.InventoryID)
	}
	return tool, nil
}

// perform begins the run, executes its tool and ends the run. It returns false if the run did not begin.
func (w *work) perform() bool {
	switch err := w.begin(); {
	case w.lost.Load():
		w.abandonDir()
		return true
	case err == nil:
	case w.cause() == errCanceled:
		w.settle(runs.Ending{Status: runs.Canceled})
		return true
	default:
		w.e.Log.Warn("begin a run", "run", w.lease.RunID, "error", err)
		w.e.release(w.job)
		w.discard()
		return false
	}
	w.e.crash("after-begin")
	started := w.e.Clock.Now()
	limit := w.e.timeout(w.run)
	if limit > 0 {
		t := time.AfterFunc(limit, func() { w.cancel(errTimeout) })
		defer t.Stop()
	}
	var out outcome
	if out.err = w.cause(); out.err == nil {
		out = w.call()
	}
	cause := w.cause()
	w.exited.Store(true)
	w.e.crash("after-exit")
	end := w.ending(out, cause, limit)
	end.StartedAt = started
	w.propose(out.Plan, &end)
	w.settle(end)
	return true
}

// begin records that a process will start, and only then returns nil.
func (w *work) begin() error {
	var pause output.Backoff
	for try := 1; ; try++ {
		if err := w.cause(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(w.e.hard, planeTimeout)
		err := w.e.Plane.Begin(ctx, w.lease)
		cancel()
		if err == nil {
			w.began.Store(true)
			w.e.contact()
			if err := w.dir.MarkBegun(); err != nil {
				w.e.Log.Warn("note that a run began", "run", w.lease.RunID, "error", err)
			}
			return nil
		}
		if output.Refused(err) {
			w.giveUp()
			return fmt.Errorf("begin: %w", err)
		}
		if try == 4 || !pause.Wait(w.ctx) {
			return fmt.Errorf("begin: %w", err)
		}
	}
}

// release releases a run that did not begin. If that fails, the lease expires.
func (e *Engine) release(j *job) {
	ctx, cancel := context.WithTimeout(e.hard, planeTimeout)
	defer cancel()
	if err := e.Plane.Release(ctx, j.lease); err != nil && !runs.LeaseLost.Is(err) {
		e.Log.Warn("give a run back", "run", j.lease.RunID, "error", err)
	}
}
