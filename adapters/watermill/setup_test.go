package watermill

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/events/eventstest"
)

func bus(t *testing.T, url string) *Bus {
	t.Helper()
	return busWith(t, url, &eventstest.Letters{})
}

func busWith(t *testing.T, url string, letters events.DeadLetters) *Bus {
	t.Helper()
	b, err := New(Params{Config: Config{URL: url}, Letters: letters, Clock: clock.New()})
	if err != nil {
		t.Fatal(err)
	}
	b.policy.pause = time.Millisecond
	return b
}

// start runs a bus until the test ends or stop is called, which waits for it.
func start(t *testing.T, b *Bus) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func send(t *testing.T, b *Bus, name string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		m := events.Message{ID: id, Name: name, Version: 1, Data: json.RawMessage(`{"id":"` + id + `"}`)}
		if err := b.Send(t.Context(), m); err != nil {
			t.Errorf("send %s: %v", id, err)
		}
	}
}

func subscribe(t *testing.T, b *Bus, name, event string, handle func(ctx context.Context, m events.Message) error) {
	t.Helper()
	if err := b.Subscribe(events.Subscription{Name: name, Event: event, Handle: handle}); err != nil {
		t.Fatal(err)
	}
}

// heard collects the ids of messages.
type heard struct {
	mu  sync.Mutex
	ids []string
}

func (h *heard) handle(_ context.Context, m events.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids = append(h.ids, m.ID)
	return nil
}

func (h *heard) sorted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.ids)
	slices.Sort(all)
	return all
}
