// Package events carries domain events from the transaction that caused them to whoever reacts.
//
// Publish inside a unit of work writes to the outbox, so an event is published exactly when its change commits.
// Delivery is at least once and unordered: handlers are idempotent on the message id. Live logs and run events
// do not travel here.
package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Event is a typed domain event. Name is "<context>.<noun>_<past>", version counts up when its shape changes.
type Event interface {
	EventName() string
	EventVersion() int
}

// Publisher writes an event into the outbox of the unit that ctx carries.
type Publisher interface {
	Publish(ctx context.Context, e Event) error
}

// Message is an event on the wire.
type Message struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Version int             `json:"version"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
}

// Subscription binds a handler to one event name. Name identifies the subscriber: with several servers on one
// bus, each name receives a message at least once in all, not once a server.
type Subscription struct {
	Name   string
	Event  string
	Handle func(ctx context.Context, m Message) error
}

// On makes a subscription with a typed handler. The handler gets the message id to be idempotent on.
func On[T Event](name string, handle func(ctx context.Context, id string, e T) error) Subscription {
	var zero T
	return Subscription{Name: name, Event: zero.EventName(), Handle: func(ctx context.Context, m Message) error {
		var e T
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return fmt.Errorf("decode %s: %w", m.Name, err)
		}
		return handle(ctx, m.ID, e)
	}}
}

// Bus hands messages to subscribers. Subscribe is called before Run; Run blocks until ctx ends and has then
// stopped every goroutine that it started.
type Bus interface {
	Send(ctx context.Context, m Message) error
	Subscribe(s Subscription) error
	Run(ctx context.Context) error
}

// Topics of Signals.
const (
	TopicQueue  = "queue"  // a run became claimable
	TopicCancel = "cancel" // somebody asked to cancel a running run
	TopicOutbox = "outbox" // the outbox holds messages
	TopicRun    = "run"    // a run's record changed; the payload is its id
)

// Signals wakes sleepers in every process that shares the database. A signal carries no truth: it says "look",
// may be coalesced or lost, and who waits for one also looks by itself now and then.
type Signals interface {
	// Signal wakes the watchers of topic after the unit of ctx has committed.
	Signal(ctx context.Context, topic, payload string) error
	// Watch delivers payloads until stop is called. The channel is buffered; when it is full, payloads are
	// dropped, and an empty payload then says "look at everything".
	Watch(topic string) (ch <-chan string, stop func())
}
