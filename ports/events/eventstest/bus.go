package eventstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// Open makes a bus that only the caller uses and that stores its dead letters in letters. It does not run yet.
type Open func(t *testing.T, letters events.DeadLetters) events.Bus

// RunBus tests an implementation against the contract.
func RunBus(t *testing.T, open Open) {
	t.Helper()
	for name, fn := range map[string]func(*testing.T, *env){
		"each subscriber gets each message":           everybody,
		"a message to one subscriber":                 toOne,
		"a message to a subscriber that there is not": toNobody,
		"failures and panics become dead letters":     failures,
		"a subscriber that hangs holds up nobody":     apart,
		"a letter that cannot be stored":              unstored,
		"a message that is sent again":                redelivered,
		"the end":                                     stops,
		"subscriptions are checked":                   checked,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &env{}
			e.bus = open(t, &e.letters)
			fn(t, e)
		})
	}
}

const event = "test.thing_happened"

type env struct {
	bus     events.Bus
	letters Letters
}

func (e *env) subscribe(t *testing.T, name, event string, handle func(context.Context, events.Message) error) {
	t.Helper()
	if err := e.bus.Subscribe(events.Subscription{Name: name, Event: event, Handle: handle}); err != nil {
		t.Fatal(err)
	}
}

// start runs the bus until the test ends or stop is called, which waits for it.
func (e *env) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.bus.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func message(id, to string) events.Message {
	return events.Message{ID: id, Name: event, Version: 1, To: to, Data: json.RawMessage(`{"id":"` + id + `"}`)}
}

// send sends a message until the bus accepts it, like an outbox.
func (e *env) send(ctx context.Context, m events.Message) error {
	for {
		err := e.bus.Send(ctx, m)
		if err == nil || fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
			return err
		}
	}
}

func (e *env) sendAll(t *testing.T, list ...events.Message) {
	t.Helper()
	for _, m := range list {
		if err := e.send(t.Context(), m); err != nil {
			t.Errorf("send %s: %v", m.ID, err)
		}
	}
}

func heard(t *testing.T, in *inbox, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprint("heard are ", want), func() bool { return len(in.distinct()) >= len(want) })
	if diff := cmp.Diff(want, in.distinct()); diff != "" {
		t.Error(diff)
	}
}

func everybody(t *testing.T, e *env) {
	var first, second, other inbox
	e.subscribe(t, "first", event, first.handle)
	e.subscribe(t, "second", event, second.handle)
	e.subscribe(t, "first", "test.other", other.handle)
	e.start(t)
	nobody := message("m4", "")
	nobody.Name = "test.nobody"
	e.sendAll(t, message("m1", ""), message("m2", ""), message("m3", ""), nobody)
	heard(t, &first, "m1", "m2", "m3")
	heard(t, &second, "m1", "m2", "m3")
	if len(other.distinct()) != 0 {
		t.Errorf("another event's subscriber heard %v", other.distinct())
	}
}

func toOne(t *testing.T, e *env) {
	var first, second inbox
	e.subscribe(t, "first", event, first.handle)
	e.subscribe(t, "second", event, second.handle)
	e.start(t)
	e.sendAll(t, message("m1", "first"), message("m1", "second"), message("m2", "second"), message("m3", "first"))
	heard(t, &first, "m1", "m3")
	heard(t, &second, "m1", "m2")
}

func toNobody(t *testing.T, e *env) {
	var in inbox
	e.subscribe(t, "first", event, in.handle)
	e.start(t)
	e.sendAll(t, message("m1", "gone"))
	eventually(t, "the letter is stored", func() bool { return len(e.letters.Added("gone")) == 1 })
	if f := e.letters.Added("gone")[0]; f.Message.ID != "m1" || f.Attempts < 1 || f.Error == "" {
		t.Errorf("the letter is %+v", f)
	}
}

func failures(t *testing.T, e *env) {
	var failed, panicked, flaky atomic.Int32
	var fine inbox
	e.subscribe(t, "fails", event, func(context.Context, events.Message) error {
		failed.Add(1)
		return errors.New("no such thing")
	})
	e.subscribe(t, "panics", event, func(context.Context, events.Message) error {
		panicked.Add(1)
		panic("boom")
	})
	e.subscribe(t, "flaky", event, func(ctx context.Context, m events.Message) error {
		if flaky.Add(1) == 1 {
			return errors.New("not yet")
		}
		return fine.handle(ctx, m)
	})
	e.start(t)
	e.sendAll(t, message("m1", ""))
	for name, want := range map[string]struct {
		calls *atomic.Int32
		text  string
	}{"fails": {&failed, "no such thing"}, "panics": {&panicked, "boom"}} {
		eventually(t, name+" has a letter", func() bool { return len(e.letters.Added(name)) == 1 })
		f := e.letters.Added(name)[0]
		if f.Message.ID != "m1" || f.Message.Name != event || string(f.Message.Data) != `{"id":"m1"}` {
			t.Errorf("%s: the message is %+v", name, f.Message)
		}
		if n := int(want.calls.Load()); f.Attempts != n || n < 2 {
			t.Errorf("%s: the letter counts %d attempts, and there were %d", name, f.Attempts, n)
		}
		if !strings.Contains(f.Error, want.text) || strings.Contains(f.Error, ".go:") || f.FirstAt.IsZero() ||
			f.LastAt.Before(f.FirstAt) {
			t.Errorf("%s: the letter is %+v", name, f)
		}
	}
	heard(t, &fine, "m1")
	e.sendAll(t, message("m2", "flaky"))
	heard(t, &fine, "m1", "m2")
	if list := e.letters.Added("flaky"); len(list) != 0 {
		t.Errorf("what was handled has letters: %+v", list)
	}
}

// apart sends a separate message to each subscriber, like an outbox.
func apart(t *testing.T, e *env) {
	release := make(chan struct{})
	var late, prompt inbox
	e.subscribe(t, "hangs", event, func(ctx context.Context, m events.Message) error {
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return late.handle(ctx, m)
	})
	e.subscribe(t, "prompt", event, prompt.handle)
	e.start(t)
	var want []string
	var sending sync.WaitGroup
	for n := range 100 {
		id := fmt.Sprintf("m%02d", n)
		want = append(want, id)
		sending.Go(func() { _ = e.send(t.Context(), message(id, "hangs")) })
	}
	for _, id := range want {
		e.sendAll(t, message(id, "prompt"))
	}
	heard(t, &prompt, want...)
	if n := len(late.distinct()); n != 0 {
		t.Errorf("the subscriber that hangs handled %d", n)
	}
	close(release)
	heard(t, &late, want...)
	sending.Wait()
}

func unstored(t *testing.T, e *env) {
	var calls atomic.Int32
	e.subscribe(t, "fails", event, func(context.Context, events.Message) error {
		calls.Add(1)
		return errors.New("no")
	})
	e.letters.Refuse(1)
	e.start(t)
	e.sendAll(t, message("m1", ""))
	eventually(t, "the letter is stored", func() bool { return len(e.letters.Added("fails")) == 1 })
	if f := e.letters.Added("fails")[0]; int(calls.Load()) <= f.Attempts {
		t.Errorf("%d calls in all, and the letter counts %d: the message did not come again", calls.Load(), f.Attempts)
	}
}

func redelivered(t *testing.T, e *env) {
	var good, other inbox
	var failing atomic.Bool
	failing.Store(true)
	e.subscribe(t, "flaky", event, func(ctx context.Context, m events.Message) error {
		if failing.Load() {
			return errors.New("no")
		}
		return good.handle(ctx, m)
	})
	e.subscribe(t, "other", event, other.handle)
	e.start(t)
	again := message("m1", "flaky")
	again.Redelivered = true
	e.sendAll(t, message("m1", ""))
	heard(t, &other, "m1")
	for n := 1; n < 3; n++ {
		eventually(t, "the letter is stored", func() bool { return len(e.letters.Added("flaky")) == n })
		failing.Store(n == 1)
		e.sendAll(t, again)
	}
	heard(t, &good, "m1")
	eventually(t, "the letter is resolved", func() bool { return len(e.letters.Resolved()) > 0 })
	for _, r := range e.letters.Resolved() {
		if r != "m1 flaky" {
			t.Errorf("resolved is %s", r)
		}
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	if other.ids["m1"] != 1 {
		t.Errorf("the other subscriber heard %v", other.ids)
	}
}

func stops(t *testing.T, e *env) {
	entered := make(chan struct{})
	var once sync.Once
	e.subscribe(t, "slow", event, func(ctx context.Context, _ events.Message) error {
		once.Do(func() { close(entered) })
		<-ctx.Done()
		return ctx.Err()
	})
	stop := e.start(t)
	sent := make(chan error, 1)
	go func() { sent <- e.bus.Send(context.WithoutCancel(t.Context()), message("m1", "")) }()
	<-entered
	stop()
	if err := <-sent; err != nil && !fault.Is(err, fault.Unavailable) {
		t.Errorf("a message in flight: %v", err)
	}
	if err := e.bus.Send(t.Context(), message("m2", "")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("send after the end: %v", err)
	}
	if list := e.letters.Added("slow"); len(list) != 0 {
		t.Errorf("what the end interrupted has letters: %+v", list)
	}
}

func checked(t *testing.T, e *env) {
	handle := func(context.Context, events.Message) error { return nil }
	e.subscribe(t, "a", event, handle)
	e.subscribe(t, "a", "test.other", handle)
	for _, s := range []events.Subscription{
		{Name: "a", Event: event, Handle: handle}, {Event: event, Handle: handle}, {Name: "b", Event: event},
	} {
		if err := e.bus.Subscribe(s); !fault.Is(err, fault.Internal) {
			t.Errorf("%s/%s: %v", s.Name, s.Event, err)
		}
	}
	e.start(t)
	eventually(t, "subscribing is refused", func() bool {
		return e.bus.Subscribe(events.Subscription{Name: "late", Event: "x", Handle: handle}) != nil
	})
}
