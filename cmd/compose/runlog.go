package compose

import (
	"context"
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// logSubscriber logs held runs, once for all servers of an install.
const logSubscriber = "log"

// observeEnded measures and logs the ends of runs in one subscription: each further subscriber of an event costs every
// run a stored message.
func observeEnded(e *metrics.Ended, log *slog.Logger) events.Subscription {
	measured, logged := e.Subscription(), logEnded(log)
	return events.Subscription{Name: measured.Name, Event: measured.Event,
		Handle: func(ctx context.Context, m events.Message) error {
			return errors.Join(measured.Handle(ctx, m), logged.Handle(ctx, m))
		}}
}

// logEnded logs every run that ended, children of a run at the level debug. A message that the bus delivers twice is
// logged twice.
func logEnded(log *slog.Logger) events.Subscription {
	return events.On(logSubscriber, func(ctx context.Context, _ string, f runs.Finished) error {
		level := slog.LevelInfo
		switch {
		case !f.TopLevel:
			level = slog.LevelDebug
		case f.Status == runs.Failed || f.Status == runs.Interrupted:
			level = slog.LevelWarn
		}
		failed := f.Hosts[runs.HostFailed] + f.Hosts[runs.HostUnreachable]
		log.Log(ctx, level, "run ended", "run", f.RunID, "status", string(f.Status), "tool", f.Tool, "duration_ms",
			f.DurationMS, "hosts", f.Touched, "failed_hosts", failed, "by", f.By, "worker", execution.ShownName(f.Worker))
		return nil
	})
}

// logHeld logs every run that waits for approval, with the names of what holds it.
func logHeld(log *slog.Logger) events.Subscription {
	return events.On(logSubscriber, func(ctx context.Context, _ string, h runs.Held) error {
		log.InfoContext(ctx, "run held", "run", h.RunID, "by", h.By, "policies", h.Policies)
		return nil
	})
}
