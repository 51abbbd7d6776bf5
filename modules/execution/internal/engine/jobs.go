package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Causes for ending a job from outside. The first one takes precedence.
var (
	errCanceled    = errors.New("somebody canceled the run")
	errTimeout     = errors.New("the run is over its timeout")
	errStopped     = errors.New("the executor was stopped")
	errOutOfReach  = errors.New("the executor lost contact with the control plane for too long")
	errLost        = errors.New("the lease is lost")
	errHandedBack  = errors.New("the run is handed back")
	errKilled      = errors.New("the executor was killed while it ran")
	errUnsupported = errors.New("this executor cannot provide what the run names")
)

// job is a claimed run.
type job struct {
	lease  runs.Lease
	run    *runs.Run
	next   int64
	ctx    context.Context
	cancel context.CancelCauseFunc
	began  atomic.Bool
	exited atomic.Bool // the tool ended; from now on only the store decides
	lost   atomic.Bool

	asked   bool          // secrets were requested: those that were made for the run are revoked at the end
	revoked chan struct{} // closed after the attempt to revoke; nil before it starts
}

// enter makes a job of an assignment.
func (e *Engine) enter(a *runs.Assignment) *job {
	ctx, cancel := context.WithCancelCause(context.Background())
	j := &job{lease: a.Lease, run: a.Run, next: max(1, a.NextSeq), ctx: ctx, cancel: cancel}
	e.mu.Lock()
	before := e.jobs[a.Lease.RunID]
	e.jobs[a.Lease.RunID] = j
	e.mu.Unlock()
	if before != nil {
		before.lose() // its lease expired, or the run could not be claimed again; no beat includes it any more
	}
	if a.Run.CancelRequested {
		cancel(errCanceled)
	}
	return j
}

func (e *Engine) leave(j *job) {
	j.cancel(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs[j.lease.RunID] == j {
		delete(e.jobs, j.lease.RunID)
	}
}

func (e *Engine) active() []*job {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*job, 0, len(e.jobs))
	for _, j := range e.jobs {
		out = append(out, j)
	}
	return out
}

func (e *Engine) find(runID string) *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.jobs[runID]
}

// lose ends a job that must not write any more. After the end of its tool the store itself reports a lost lease.
func (j *job) lose() {
	if !j.exited.Load() {
		j.lost.Store(true)
		j.cancel(errLost)
	}
}

// cause returns why the job was ended from outside, nil if it was not.
func (j *job) cause() error {
	if j.ctx.Err() == nil {
		return nil
	}
	return context.Cause(j.ctx)
}

func (e *Engine) endAll(cause error) {
	for _, j := range e.active() {
		j.cancel(cause)
	}
}

// releaseUnbegun ends jobs that have started no process: they are released, not interrupted.
func (e *Engine) releaseUnbegun() {
	for _, j := range e.active() {
		if !j.began.Load() {
			j.cancel(errHandedBack)
		}
	}
}

// outOfReach ends every job when no beat succeeded for the grace time.
func (e *Engine) outOfReach() {
	if jobs := e.active(); len(jobs) > 0 {
		e.Log.Error("the control plane is out of reach; running jobs are ended", "runs", len(jobs), "grace", e.opt.LossGrace)
		e.endAll(errOutOfReach)
	}
}

// contact records that the plane answered.
func (e *Engine) contact() { e.grace.Reset(e.opt.LossGrace) }

// timeout returns how long the run may execute: its own limit if it has one, else the executor's. Zero is no limit.
func (e *Engine) timeout(r *runs.Run) time.Duration {
	if r.Spec.TimeoutSeconds > 0 {
		return time.Duration(r.Spec.TimeoutSeconds) * time.Second
	}
	return e.opt.RunTimeout
}
