package notify

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the driving ports of the context and its subscriptions in the group of the bus, and delivers while the application runs.
// It needs a Config, the stores, a guard, a sealer, a renderer and the kernel; the channels are the group notify.channels, and the notifiers
// of extensions and a Meter are optional.
var Module = fx.Module("notify", fx.Provide(provideTargets, provide))

type keeping struct {
	fx.Out

	Targets notify.Targets
	Opener  notify.Opener
}

func provideTargets(s notify.TargetStore, sealer secrets.Sealer, d secrets.Digester, g ids.Generator) keeping {
	k := NewTargets(s, sealer, d, g)
	return keeping{Targets: k, Opener: k}
}

type kernelParams struct {
	fx.In

	Unit    tx.Unit
	Signals events.Signals
	IDs     ids.Generator
	Log     *slog.Logger
}

type ownParams struct {
	fx.In

	Config    Config
	Store     notify.Store
	Runs      runs.Store
	Objects   runs.ObjectStore
	Guard     access.Guard
	Opener    notify.Opener
	Renderer  notify.Renderer
	Channels  []notify.Channel              `group:"notify.channels"`
	Notifiers map[string]extension.Notifier `optional:"true"`
	Meter     notify.Meter                  `optional:"true"`
}

type results struct {
	fx.Out

	Reader   notify.Reader
	Finished events.Subscription `group:"events.subscriptions"`
	Held     events.Subscription `group:"events.subscriptions"`
}

func provide(life fx.Lifecycle, k kernelParams, o ownParams) (results, error) {
	r, err := New(Params{
		Kernel: Kernel{k.Unit, k.Signals, k.IDs, k.Log}, Config: o.Config, Store: o.Store, Runs: o.Runs, Objects: o.Objects, Guard: o.Guard,
		Opener: o.Opener, Renderer: o.Renderer, Channels: o.Channels, Notifiers: o.Notifiers, Meter: o.Meter,
	})
	if err != nil {
		return results{}, err
	}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { r.Background.Start(); return nil },
		OnStop:  r.Background.Stop,
	})
	return results{Reader: r.Reader, Finished: r.Finished, Held: r.Held}, nil
}
