package watermill

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/natstest"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/waittest"
)

func TestServersShareASubscription(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	a, b := bus(t, url), bus(t, url)
	var all heard
	for _, one := range []*Bus{a, b} {
		subscribe(t, one, "shared", "test.happened", all.handle)
	}
	start(t, a)
	start(t, b)
	var want []string
	for n := range 50 {
		id := fmt.Sprintf("m%02d", n)
		want = append(want, id)
		send(t, a, "test.happened", id)
		send(t, b, "test.happened", id) // the relay of another server sends it as well
	}
	waittest.Eventually(t, ackWait+time.Minute, "all are heard", func() bool { return len(all.sorted()) >= len(want) })
	if diff := cmp.Diff(want, all.sorted()); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesWaitForASubscriberThatIsDown(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	var h heard
	a := bus(t, url)
	subscribe(t, a, "worker", "test.happened", h.handle)
	stop := start(t, a)
	<-a.ready
	stop()

	sender := bus(t, url)
	start(t, sender)
	send(t, sender, "test.happened", "m1", "m2")

	again := bus(t, url)
	subscribe(t, again, "worker", "test.happened", h.handle)
	start(t, again)
	waittest.Eventually(t, ackWait+time.Minute, "all are heard", func() bool {
		return slices.Equal(h.sorted(), []string{"m1", "m2"})
	})
}

func TestUnhandledMessageComesAgain(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	a := bus(t, url)
	entered := make(chan struct{})
	subscribe(t, a, "worker", "test.happened", func(ctx context.Context, _ events.Message) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	})
	stop := start(t, a)
	send(t, a, "test.happened", "m1")
	<-entered
	stop()

	var h heard
	b := bus(t, url)
	subscribe(t, b, "worker", "test.happened", h.handle)
	start(t, b)
	waittest.Eventually(t, ackWait+time.Minute, "the message comes again", func() bool { return len(h.sorted()) == 1 })
}

func TestJetStreamBusLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the end of the server, which runs in this process
	url := natstest.Start(t)
	b := bus(t, url)
	var h heard
	subscribe(t, b, "a", "test.happened", h.handle)
	stop := start(t, b)
	send(t, b, "test.happened", "m1")
	waittest.Eventually(t, ackWait+time.Minute, "it is heard", func() bool { return len(h.sorted()) == 1 })
	stop()
}

// TestTheEndOfTheContextEndsASubscription because the router may not close the subscriber.
func TestTheEndOfTheContextEndsASubscription(t *testing.T) {
	t.Parallel()
	j := newJetStream(natstest.Start(t), slog.New(slog.DiscardHandler))
	s := events.Subscription{Name: "worker", Event: "test.happened"}
	if err := j.open(t.Context(), []events.Subscription{s}); err != nil {
		t.Fatal(err)
	}
	c, topic, err := j.subscriber(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	messages, err := c.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range messages { // ends when the channel is closed
		t.Error("a message came")
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
}
