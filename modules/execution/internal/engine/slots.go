package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// planeTimeout bounds one call to the control plane.
const planeTimeout = 30 * time.Second

// slot executes one run after the other. An idle slot sleeps until there is a reason to look for a run.
func (e *Engine) slot() {
	defer e.slots.Done()
	var pause output.Backoff
	for e.claiming.Err() == nil {
		round := e.round.Load()
		if e.emptyRound.Load() >= round {
			e.idle()
			continue
		}
		a, err := e.claim()
		switch {
		case err != nil:
			e.Log.Warn("claim a run", "error", err)
			e.claimUnknown.Store(true)
			pause.Wait(e.claiming)
		case a == nil:
			pause = output.Backoff{}
			if e.claimUnknown.CompareAndSwap(true, false) {
				e.releaseUnknown()
			}
			e.markEmpty(round)
		default:
			if a.Last && !e.claimUnknown.Load() {
				e.markEmpty(round)
			} else {
				e.token() // where one run waits, others may wait too
			}
			if !e.execute(a) {
				pause.Wait(e.claiming)
				continue
			}
			pause = output.Backoff{}
		}
	}
}

// claim requests a run. A stop does not cancel the call, since its result would be unknown.
func (e *Engine) claim() (*runs.Assignment, error) {
	e.crash("before-claim")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.claiming), planeTimeout)
	defer cancel()
	a, err := e.Plane.Claim(ctx, runs.ClaimRequest{Worker: e.opt.Worker, Queues: e.opt.Queues})
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	if a != nil {
		e.contact()
	}
	return a, nil
}

// releaseUnknown releases runs of claims whose answer was lost; they would otherwise wait for the end of their leases.
// It may also release a run that another slot just received and has not entered; its holder is then refused before
// anything began, and the run is claimed again.
func (e *Engine) releaseUnknown() {
	ctx, cancel := context.WithTimeout(e.hard, planeTimeout)
	defer cancel()
	leased, err := e.Plane.Leased(ctx, e.opt.Worker)
	for _, r := range leased {
		if r.Begun || e.find(r.ID) != nil {
			continue
		}
		l := runs.Lease{RunID: r.ID, Worker: e.opt.Worker, Epoch: r.Epoch}
		if failed := e.Plane.Release(ctx, l); failed != nil && !output.Refused(failed) {
			err = failed
			continue
		}
		e.Log.Info("gave back a run whose claim was not answered", "run", r.ID)
	}
	if err != nil {
		e.Log.Warn("look for claims that were not answered", "error", err)
		e.claimUnknown.Store(true)
	}
}

// idle sleeps until a token arrives or the engine stops claiming.
func (e *Engine) idle() {
	select {
	case <-e.wake:
	case <-e.claiming.Done():
	}
}

// markEmpty records the round with an empty queue, unless a later one is recorded.
func (e *Engine) markEmpty(round int64) {
	for {
		old := e.emptyRound.Load()
		if old >= round || e.emptyRound.CompareAndSwap(old, round) {
			return
		}
	}
}

// token lets one idle slot look; if there are as many tokens as slots, every slot will look anyway.
func (e *Engine) token() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// wakeSlots gives one slot a reason to look. A slot that finds a run wakes the next.
func (e *Engine) wakeSlots() {
	e.round.Add(1)
	e.token()
}

// watch starts the triggers of the slots and the beats: signals, and a slow poll for lost signals.
func (e *Engine) watch() {
	e.aux.Add(1)
	go e.poll()
	if e.Signals == nil {
		return
	}
	// The watches start here and not in the goroutines, so that no signal about a later claim is missed.
	queued, endQueued := e.Signals.Watch(events.TopicQueue)
	cancels, endCancels := e.Signals.Watch(events.TopicCancel)
	e.aux.Add(2)
	go e.follow(queued, endQueued, func(string) { e.wakeSlots() })
	go e.follow(cancels, endCancels, e.cancelSignal)
}

func (e *Engine) poll() {
	defer e.aux.Done()
	t := time.NewTicker(e.opt.Poll)
	defer t.Stop()
	for {
		select {
		case <-e.claiming.Done():
			return
		case <-t.C:
			e.wakeSlots()
		}
	}
}

// follow calls see with each payload until the engine is done: a cancel also applies during a drain.
func (e *Engine) follow(ch <-chan string, stop func(), see func(payload string)) {
	defer e.aux.Done()
	defer stop()
	for {
		select {
		case <-e.hard.Done():
			return
		case payload, ok := <-ch:
			if !ok {
				return
			}
			see(payload)
		}
	}
}

func (e *Engine) cancelSignal(runID string) {
	if runID == "" {
		select {
		case e.beatNow <- struct{}{}:
		default:
		}
		return
	}
	if j := e.find(runID); j != nil {
		j.cancel(errCanceled)
	}
}
