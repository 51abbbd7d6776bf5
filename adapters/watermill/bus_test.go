package watermill

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/natstest"
	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/events/eventstest"
	"github.com/writ-automation/writ/ports/fault"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"local": func(*testing.T) string { return "" }, "jetstream": func(t *testing.T) string { return natstest.Start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eventstest.RunBus(t, func(t *testing.T, letters events.DeadLetters) events.Bus {
				return busWith(t, url(t), letters)
			})
		})
	}
}

func TestLocalSendWaitsForTheHandlers(t *testing.T) {
	t.Parallel()
	b := bus(t, "")
	release := make(chan struct{})
	var h heard
	subscribe(t, b, "slow", "test.happened", func(ctx context.Context, m events.Message) error {
		<-release
		return h.handle(ctx, m)
	})
	start(t, b)
	sent := make(chan error, 1)
	go func() { sent <- b.Send(t.Context(), events.Message{ID: "m1", Name: "test.happened"}) }()
	select {
	case err := <-sent:
		t.Errorf("send returned %v before the handler", err)
	default:
	}
	close(release)
	if err := <-sent; err != nil || len(h.sorted()) != 1 {
		t.Errorf("send returned %v, handled are %v", err, h.sorted())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bus(t, "").Send(ctx, events.Message{ID: "m2"}); !errors.Is(err, context.Canceled) {
		t.Errorf("send on a bus that does not run: %v", err)
	}
}

func TestUnknownTransport(t *testing.T) {
	t.Parallel()
	p := Params{Config: Config{URL: "amqp://x"}, Letters: &eventstest.Letters{}, Clock: clock.New()}
	if _, err := New(p); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}

func TestLocalBusLeavesNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := bus(t, "")
	var h heard
	subscribe(t, b, "a", "test.happened", h.handle)
	stop := start(t, b)
	send(t, b, "test.happened", "m1", "m2")
	stop()
	if len(h.sorted()) != 2 {
		t.Errorf("heard %v", h.sorted())
	}
}

func TestModule(t *testing.T) {
	t.Parallel()
	var b events.Bus
	app := fxtest.New(t, Module, fx.NopLogger, fx.Supply(Config{}, slog.New(slog.DiscardHandler)), fx.Populate(&b),
		fx.Provide(func() portclock.Clock { return clock.New() }, func() events.DeadLetters { return &eventstest.Letters{} }))
	app.RequireStart()
	app.RequireStop()
	if b == nil {
		t.Error("there is no bus")
	}
}
