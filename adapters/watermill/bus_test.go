package watermill

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

func TestEachSubscriberGetsEachMessage(t *testing.T) {
	each(t, func(t *testing.T, open func() *Bus) {
		b := open()
		var first, second, other heard
		subscribe(t, b, "first", "test.happened", first.handle)
		subscribe(t, b, "second", "test.happened", second.handle)
		subscribe(t, b, "first", "test.other", other.handle)
		start(t, b)
		send(t, b, "test.happened", "m1", "m2", "m3")
		send(t, b, "test.nobody", "m4")
		want := []string{"m1", "m2", "m3"}
		for _, h := range []*heard{&first, &second} {
			eventually(t, "all are heard", func() bool { return len(h.sorted()) >= len(want) })
			if diff := cmp.Diff(want, h.sorted()); diff != "" {
				t.Error(diff)
			}
		}
		if len(other.sorted()) != 0 {
			t.Errorf("another event's subscriber heard %v", other.sorted())
		}
	})
}

func TestFailingAndPanickingHandlersAreTriedAgainAndThenDropped(t *testing.T) {
	each(t, func(t *testing.T, open func() *Bus) {
		b := open()
		var fails, panics, flaky atomic.Int32
		var fine heard
		subscribe(t, b, "fails", "test.happened", func(context.Context, events.Message) error {
			fails.Add(1)
			return errors.New("no")
		})
		subscribe(t, b, "panics", "test.happened", func(context.Context, events.Message) error {
			panics.Add(1)
			panic("boom")
		})
		subscribe(t, b, "flaky", "test.happened", func(ctx context.Context, m events.Message) error {
			if flaky.Add(1) == 1 {
				return errors.New("not yet")
			}
			return fine.handle(ctx, m)
		})
		start(t, b)
		send(t, b, "test.happened", "m1")
		attempts := int32(b.policy.attempts)
		eventually(t, "the handlers are done", func() bool {
			return fails.Load() == attempts && panics.Load() == attempts && len(fine.sorted()) == 1
		})
		send(t, b, "test.happened", "m2")
		eventually(t, "the next message comes", func() bool { return len(fine.sorted()) == 2 })
	})
}

func TestHandlersStopWithTheBus(t *testing.T) {
	each(t, func(t *testing.T, open func() *Bus) {
		b := open()
		entered := make(chan struct{})
		subscribe(t, b, "slow", "test.happened", func(ctx context.Context, _ events.Message) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		stop := start(t, b)
		sent := make(chan error, 1)
		go func() { sent <- b.Send(t.Context(), events.Message{ID: "m1", Name: "test.happened"}) }()
		<-entered
		stop()
		if err := <-sent; err != nil && !fault.Is(err, fault.Unavailable) {
			t.Errorf("a message under way: %v", err)
		}
		err := b.Send(t.Context(), events.Message{ID: "m2", Name: "test.happened"})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("send after the end: %v", err)
		}
	})
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

func TestSubscriptionsAreChecked(t *testing.T) {
	t.Parallel()
	b := bus(t, "")
	handle := func(context.Context, events.Message) error { return nil }
	subscribe(t, b, "a", "test.happened", handle)
	subscribe(t, b, "a", "test.other", handle)
	for _, s := range []events.Subscription{
		{Name: "a", Event: "test.happened", Handle: handle},
		{Event: "test.happened", Handle: handle},
		{Name: "b", Event: "test.happened"},
	} {
		if err := b.Subscribe(s); !fault.Is(err, fault.Internal) {
			t.Errorf("%s/%s: %v", s.Name, s.Event, err)
		}
	}
	start(t, b)
	eventually(t, "subscribing is refused", func() bool {
		return b.Subscribe(events.Subscription{Name: "late", Event: "x", Handle: handle}) != nil
	})
	if _, err := New(Params{Config: Config{URL: "amqp://x"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a strange URL: %v", err)
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
	var h heard
	var b events.Bus
	app := fxtest.New(t, Module, fx.NopLogger, fx.Supply(Config{}, slog.New(slog.DiscardHandler)),
		fx.Provide(fx.Annotate(func() events.Subscription {
			return events.Subscription{Name: "a", Event: "test.happened", Handle: h.handle}
		}, fx.ResultTags(Group))),
		fx.Populate(&b))
	app.RequireStart()
	if err := b.Send(t.Context(), events.Message{ID: "m1", Name: "test.happened"}); err != nil {
		t.Error(err)
	}
	app.RequireStop()
	if diff := cmp.Diff([]string{"m1"}, h.sorted()); diff != "" {
		t.Error(diff)
	}
}
