package watermill

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
)

// Module provides events.Bus. It needs a Config, events.DeadLetters, a clock and a logger. The composition adds the
// subscriptions and runs it.
var Module = fx.Module("watermill", fx.Provide(
	func(cfg Config, letters events.DeadLetters, c clock.Clock, log *slog.Logger) (events.Bus, error) {
		return New(Params{Config: cfg, Letters: letters, Clock: c, Log: log})
	},
))
