// Package events carries domain events from the transaction that caused them to their subscribers.
//
// Publish inside a unit of work writes to the outbox, so an event is published exactly when its change commits.
// Delivery is at least once and unordered: handlers are idempotent on the message id. Live logs and run events do not
// use it.
package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Event is a typed domain event. Name is "<context>.<noun>_<past>". The version increases when the shape changes.
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
	// To is the only subscriber that gets the message, empty for all.
	To string `json:"to,omitempty"`
	// Redelivered marks the retry of a dead letter: once the subscriber has handled it, the bus resolves the letter.
	Redelivered bool `json:"redelivered,omitempty"`
}

// Subscription binds a handler to one event name. Name identifies the subscriber: with several servers on one bus,
// each name receives a message at least once in total, not once per server.
type Subscription struct {
	Name   string
	Event  string
	Handle func(ctx context.Context, m Message) error
}

// On makes a subscription with a typed handler. The handler gets the message id, on which it must be idempotent.
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

// SubscriptionGroup is the value group that contexts provide their subscriptions in.
const SubscriptionGroup = `group:"events.subscriptions"`

// Bus delivers messages to subscribers. It calls a handler that fails or panics again a few times, then it stores the
// message as a dead letter. The failures of one subscriber do not delay another one.
type Bus interface {
	// Send returns when the message can no longer be lost: each of its subscribers has handled it or has a dead
	// letter of it, or the bus has stored it. After an error the caller sends it again. A message of an event without
	// subscribers is accepted. A message to an unknown subscriber becomes a dead letter.
	Send(ctx context.Context, m Message) error
	// Subscribe is called before Run. Two subscriptions with the same name and event are an Internal fault.
	Subscribe(s Subscription) error
	// Run blocks until ctx ends and has then stopped every goroutine that it started. It is called once.
	Run(ctx context.Context) error
}

// Failure is a message that a subscriber did not handle.
type Failure struct {
	Message    Message
	Subscriber string
	Attempts   int
	Error      string // of the last attempt
	FirstAt    time.Time
	LastAt     time.Time
}

// DeadLetters stores messages that subscribers did not handle. A bus calls it outside of units of work.
type DeadLetters interface {
	// Add stores a dead letter. If the subscriber already has one of the message, Add adds up the attempts.
	Add(ctx context.Context, f Failure) error
	// Resolve deletes the dead letter of a message that its subscriber has handled later. A missing letter is no
	// error.
	Resolve(ctx context.Context, messageID, subscriber string) error
}

// Redeliverer sends a message again, to the subscriber that it names.
type Redeliverer interface {
	// Redeliver stores the message in the unit that ctx carries. It is sent after the commit.
	Redeliver(ctx context.Context, m Message) error
}

// Topics of Signals.
const (
	TopicQueue   = "queue"   // a run became claimable
	TopicCancel  = "cancel"  // a cancel of a running run was requested
	TopicOutbox  = "outbox"  // the outbox holds messages
	TopicRun     = "run"     // a run's record changed; the payload is its id
	TopicHeld    = "held"    // a run is held until its inventories are refreshed; the payload is its id
	TopicWorker  = "worker"  // a worker's token was revoked
	TopicWindow  = "window"  // windows were changed
	TopicSlots   = "slots"   // runs may wait for slots that are free
	TopicFacts   = "facts"   // facts were gathered
	TopicRefresh = "refresh" // an executor is to refresh a source, or has; the payload is the source's id
)

// Signals wakes waiting goroutines in every process that shares the database. A signal is only a hint: it may be
// merged with others or lost, so that a watcher also checks at intervals.
type Signals interface {
	// Signal wakes the watchers of topic after the unit of ctx has committed.
	Signal(ctx context.Context, topic, payload string) error
	// Watch delivers payloads until stop is called. The channel is buffered. If it is full, payloads are dropped, and
	// an empty payload means "check everything".
	Watch(topic string) (ch <-chan string, stop func())
}
