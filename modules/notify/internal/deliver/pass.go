package deliver

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/notify"
)

const (
	// retryPause is the pause after an error, and soon the pause after other servers were faster.
	retryPause    = time.Second
	conflictPause = 20 * time.Millisecond
	// askTime bounds one query of the store.
	askTime = 5 * time.Second
)

// pass begins tries until no slot is free or nothing is due, and returns the time until the next pass.
func (e *Engine) pass(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		free, full := e.capacity()
		if free == 0 {
			return e.set.Poll
		}
		list, wait, err := e.take(ctx, free, full)
		if err != nil {
			e.log.ErrorContext(ctx, "cannot read the due notifications; trying again", "err", err)
			return min(retryPause, e.set.Poll)
		}
		for i := range list {
			e.start(list[i])
		}
		switch {
		case len(list) > 0:
		case wait == 0:
			return e.set.Poll
		default:
			return min(max(wait, conflictPause), e.set.Poll)
		}
	}
	return 0
}

// take ignores a stop: deliveries that it claims would wait until the claim expires.
func (e *Engine) take(ctx context.Context, free int, full []string) ([]notify.Delivery, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	return e.store.TakeDeliveries(ctx, free, e.set.LeaseTime, full)
}

// start tries a delivery in its own goroutine.
func (e *Engine) start(d notify.Delivery) {
	lane := d.Lane()
	e.enter(lane)
	e.work.Go(func() {
		if d.Attempts > e.tries() {
			// The server that claimed the last try stored no result.
			e.fail(&d, lost())
			e.leave(lane, nil)
			return
		}
		err, stray := e.try(&d)
		e.settle(&d, err)
		e.leave(lane, stray)
	})
}

func (e *Engine) tries() int { return len(e.set.Pauses) + 1 }
