package compose

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/outbox"
	portestate "github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// audience lists the subscribers of events on servers, for processes that publish and have no subscribers themselves.
func (x *Executor) audience() *outbox.Audience {
	a := outbox.NewAudience(map[string][]string{
		portestate.DriftFound{}.EventName(): {"notify"},
		runs.Held{}.EventName():             {"log", "notify"},
		runs.Finished{}.EventName():         {"metrics", "notify"},
		runs.Planned{}.EventName():          {"drift", "plans"},
		runs.Reported{}.EventName():         {"drift", "estate"},
	})
	for _, s := range x.subscriptions() {
		a.Add(s.Event, s.Name)
	}
	return a
}

// listeners are the subscriptions of a server.
type listeners struct {
	fx.In

	Contexts []events.Subscription `group:"events.subscriptions"`
}

// all returns them in a fixed order, since groups arrive in random order.
func (l listeners) all(x *Executor) []events.Subscription {
	return slices.SortedFunc(slices.Values(slices.Concat(l.Contexts, x.subscriptions())),
		func(a, b events.Subscription) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Event, b.Event))
		})
}

// carrying subscribes all subscribers to the bus, and runs it while the process runs.
func carrying() fx.Option {
	return fx.Module("bus", fx.Supply(outbox.NewAudience(nil)), fx.Invoke(runBus))
}

func runBus(life fx.Lifecycle, bus events.Bus, l listeners, x *Executor, a *outbox.Audience) error {
	for _, s := range l.all(x) {
		if err := bus.Subscribe(s); err != nil {
			return err
		}
		a.Add(s.Event, s.Name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	life.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { done <- bus.Run(ctx) }()
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
	return nil
}
