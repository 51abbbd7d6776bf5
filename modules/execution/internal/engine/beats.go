package engine

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// beatRetry is the delay before a failed beat is repeated.
const beatRetry = 2 * time.Second

// beats renews all leases at once, while there are any.
func (e *Engine) beats() {
	defer e.aux.Done()
	t := time.NewTimer(runs.BeatEvery)
	defer t.Stop()
	for {
		select {
		case <-e.hard.Done():
			return
		case <-t.C:
		case <-e.beatNow:
		}
		next := runs.BeatEvery
		if !e.beat() {
			next = beatRetry
		}
		t.Reset(next)
	}
}

// beat renews the leases of all jobs and applies the plane's answers.
func (e *Engine) beat() bool {
	jobs := e.active()
	if len(jobs) == 0 {
		e.contact()
		return true
	}
	leases, of := make([]runs.Lease, 0, len(jobs)), make(map[string]*job, len(jobs))
	for _, j := range jobs {
		leases = append(leases, j.lease)
		of[j.lease.RunID] = j
	}
	ctx, cancel := context.WithTimeout(e.hard, runs.BeatEvery)
	defer cancel()
	answers, err := e.Plane.Beat(ctx, e.opt.Worker, leases)
	if err != nil {
		e.Log.Warn("renew the leases", "error", err, "runs", len(leases))
		return false
	}
	e.contact()
	for _, b := range answers {
		switch j := of[b.RunID]; {
		case j == nil:
		case b.Lost:
			j.lose()
		case b.CancelRequested:
			j.cancel(errCanceled)
		}
	}
	return true
}
