package deliver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// notePause is the pause before the result of a try is stored again after an error.
const notePause = 200 * time.Millisecond

func lost() *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the server ended in the middle of the last try"}
}

// try makes one try. stray is nil, or is closed when a channel returns after its time.
func (e *Engine) try(d *notify.Delivery) (err error, stray <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), e.set.Try)
	result, returned := make(chan error, 1), make(chan struct{})
	one := *d
	go func() {
		defer close(returned)
		defer cancel()
		result <- e.send(ctx, one)
	}()
	limit := time.NewTimer(e.set.Try + e.set.Grace)
	defer limit.Stop()
	select {
	case err := <-result:
		return err, nil
	case <-limit.C:
		return &fault.Error{Kind: fault.Unavailable, Message: "it did not end in time"}, returned
	}
}

// send converts a panic of a channel or a notifier to a failed try. It drops the panic's value, which may contain
// secrets.
func (e *Engine) send(ctx context.Context, d notify.Delivery) (err error) {
	defer func() {
		if r := recover(); r != nil {
			what := "a panic"
			if known, ok := r.(runtime.Error); ok {
				what = known.Error()
			}
			e.log.ErrorContext(ctx, "a channel of notifications panicked", "delivery", d.ID, "panic", what, "stack",
				string(debug.Stack()))
			err = &fault.Error{Kind: fault.Unavailable, Message: "it failed unexpectedly"}
		}
	}()
	return e.sender.Send(ctx, d)
}

// settle stores the result of a try. Deleting a run deletes its deliveries.
func (e *Engine) settle(d *notify.Delivery, err error) {
	switch {
	case runs.RunNotFound.Is(err):
	case err == nil:
		if e.note(d, func(ctx context.Context) error { return e.store.EndDelivery(ctx, d.ID, notify.Delivered, "") }) {
			e.meter.Count(d.Origin, d.Kind, notify.Delivered)
		}
	case notify.Refused.Is(err), d.Attempts >= e.tries():
		e.fail(d, err)
	default:
		pause := e.set.Pauses[max(0, d.Attempts-1)]
		e.note(d, func(ctx context.Context) error {
			return e.store.DeferDelivery(ctx, d.ID, reason(err), pause+jitter(pause))
		})
	}
}

// jitter spreads the next tries of deliveries that failed together.
func jitter(pause time.Duration) time.Duration { return rand.N(pause/5 + 1) }

// fail drops a delivery and logs it.
func (e *Engine) fail(d *notify.Delivery, err error) {
	why := reason(err)
	if !e.note(d, func(ctx context.Context) error { return e.store.EndDelivery(ctx, d.ID, notify.Failed, why) }) {
		return
	}
	e.meter.Count(d.Origin, d.Kind, notify.Failed)
	masked := d.Target.Masked()
	line := []any{"run", d.RunID, "delivery", d.ID, "kind", d.Kind, "target", cmp.Or(masked.URL, masked.To, masked.Key),
		"tries", d.Attempts, "reason", why}
	var f *fault.Error
	if errors.As(err, &f) && f.Cause != nil {
		line = append(line, slog.Any("err", f.Cause))
	}
	e.log.Warn("a notification was dropped", line...)
}

// note stores the result of a try and reports whether it succeeded. Otherwise the delivery is tried again when its
// claim expires.
func (e *Engine) note(d *notify.Delivery, store func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	for {
		err := store(ctx)
		if err == nil {
			return true
		}
		if fault.Is(err, fault.Unavailable) && background.Wait(ctx, notePause) {
			continue
		}
		e.log.ErrorContext(ctx, "cannot store the result of a notification; it may be sent again", "delivery", d.ID,
			"err", err)
		return false
	}
}

// reason is the public text of an error: the message of a fault.
func reason(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Message != "" && !errors.Is(f.Cause, context.DeadlineExceeded) {
		return f.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	return "an internal error; see the server's log"
}
