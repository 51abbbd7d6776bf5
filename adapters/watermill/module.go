package watermill

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/events"
)

// Group is the value group that contexts provide their events.Subscription in.
const Group = `group:"events.subscriptions"`

// Module provides events.Bus with the subscriptions of Group, and runs it while the application runs. It needs a
// Config and a logger.
var Module = fx.Module("watermill", fx.Provide(provide), fx.Invoke(func(events.Bus) {}))

type moduleParams struct {
	fx.In
	Config        Config
	Log           *slog.Logger
	Subscriptions []events.Subscription `group:"events.subscriptions"`
}

func provide(life fx.Lifecycle, p moduleParams) (events.Bus, error) {
	b, err := New(Params{Config: p.Config, Log: p.Log})
	if err != nil {
		return nil, err
	}
	// Groups arrive in random order.
	slices.SortFunc(p.Subscriptions, func(x, y events.Subscription) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Event, y.Event))
	})
	for _, s := range p.Subscriptions {
		if err := b.Subscribe(s); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	life.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { done <- b.Run(ctx) }()
			return nil
		},
		OnStop: func(stop context.Context) error {
			cancel()
			select {
			case err := <-done:
				return err
			case <-stop.Done():
				return errors.Join(stop.Err(), errors.New("the bus did not stop in time"))
			}
		},
	})
	return b, nil
}
