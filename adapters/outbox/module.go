package outbox

import (
	"context"
	"errors"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/events"
)

// Module provides events.Publisher and runs the relay while the application runs. It needs a *db.DB, an *Audience,
// events.Signals, events.Bus, a clock, an id generator and a logger.
var Module = fx.Module("outbox",
	fx.Provide(fx.Annotate(NewWriter, fx.As(new(events.Publisher)), fx.As(new(events.Redeliverer))), NewRelay),
	fx.Invoke(run),
)

func run(life fx.Lifecycle, r *Relay) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	life.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() {
				defer close(done)
				r.Run(ctx)
			}()
			return nil
		},
		OnStop: func(stop context.Context) error {
			cancel()
			select {
			case <-done:
				return nil
			case <-stop.Done():
				return errors.Join(stop.Err(), errors.New("the relay of the outbox did not stop in time"))
			}
		},
	})
}
