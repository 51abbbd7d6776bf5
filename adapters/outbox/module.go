package outbox

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/events"
)

// Module provides events.Publisher and events.Redeliverer, and runs the relay while the application runs. It needs a
// *db.DB, an *Audience, events.Signals, events.Bus, a clock, an id generator and a logger. A background.Observer is
// optional.
var Module = fx.Module("outbox",
	fx.Provide(
		fx.Annotate(NewWriter, fx.As(new(events.Publisher)), fx.As(new(events.Redeliverer))),
		fx.Annotate(NewRelay, fx.ParamTags("", "", "", "", "", `optional:"true"`)),
	),
	fx.Invoke(func(life fx.Lifecycle, r *Relay) { life.Append(fx.StartStopHook(r.Start, r.Stop)) }),
)
