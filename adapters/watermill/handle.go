package watermill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/writ-automation/writ/ports/events"
)

// atOnce bounds how many handlers of a subscription run at the same time. A message between two attempts does not
// count.
const atOnce = 8

// storeTimeout bounds how long a dead letter may take to be stored.
const storeTimeout = 20 * time.Second

// policy is the number of attempts of a handler, their time limit and their pauses.
type policy struct {
	attempts int
	limit    time.Duration
	pause    time.Duration // four times as long after each attempt
}

// All attempts together take less than ackWait, since JetStream would otherwise deliver the message a second time.
var defaultPolicy = policy{attempts: 4, limit: 20 * time.Second, pause: 100 * time.Millisecond}

// delivery is a message on its way through the middleware of one subscription.
type delivery struct {
	events.Failure
	dead bool // stored as a dead letter
}

type deliveryKey struct{}

func deliveryOf(m *message.Message) *delivery {
	d, ok := m.Context().Value(deliveryKey{}).(*delivery)
	if !ok {
		return &delivery{}
	}
	return d
}

// middlewares returns the middlewares of a subscription, the outermost first. They end with the context run.
func (b *Bus) middlewares(run context.Context, s events.Subscription) ([]message.HandlerMiddleware, error) {
	going := func(error) bool { return run.Err() == nil } // a handler that the stop ended has not failed
	poison, err := middleware.PoisonQueueWithFilter(poisonQueue{b}, "dead_letters", going)
	if err != nil {
		return nil, fmt.Errorf("make the poison queue: %w", err)
	}
	retry := middleware.Retry{
		MaxRetries: b.policy.attempts - 1, InitialInterval: b.policy.pause, Multiplier: 4, MaxInterval: b.policy.limit,
		ResetContextOnRetry: true,
	}
	return []message.HandlerMiddleware{b.deliver(run, s), poison, retry.Middleware, b.attempt(), middleware.Recoverer},
		nil
}

// handler returns the handler of the subscription.
func handler(s events.Subscription) message.NoPublishHandlerFunc {
	return func(m *message.Message) error { return s.Handle(m.Context(), deliveryOf(m).Message) }
}

// deliver reads a message, and settles it after the rest of the chain.
func (b *Bus) deliver(run context.Context, s events.Subscription) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			d := &delivery{Failure: events.Failure{Subscriber: s.Name}}
			if err := json.Unmarshal(m.Payload, &d.Message); err != nil {
				b.logger(d).Error("a message cannot be read and is dropped", "error", err)
				return nil, b.carry.settle(m, nil)
			}
			if d.Message.To != "" && d.Message.To != s.Name {
				return nil, nil // the stream delivers every message to every subscription
			}
			ctx, cancel := context.WithCancel(context.WithValue(m.Context(), deliveryKey{}, d))
			defer cancel()
			defer context.AfterFunc(run, cancel)()
			m.SetContext(ctx)
			_, err := next(m)
			if err != nil && run.Err() != nil {
				err = errStopped()
			}
			if err == nil && d.Message.Redelivered && !d.dead {
				err = b.resolve(run, d)
			}
			return nil, b.carry.settle(m, err)
		}
	}
}

// attempt calls the handler once, within its limits, and records its failure.
func (b *Bus) attempt() message.HandlerMiddleware {
	slots := make(chan struct{}, atOnce)
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			ctx, cancel := context.WithTimeout(m.Context(), b.policy.limit)
			defer cancel()
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-m.Context().Done():
				return nil, m.Context().Err()
			}
			d := deliveryOf(m)
			m.SetContext(ctx)
			_, err := next(m)
			if err == nil {
				return nil, nil
			}
			if panicked, ok := errors.AsType[middleware.RecoveredPanicError](err); ok {
				b.logger(d).Error("a handler panicked", "panic", panicked.V, "stack", panicked.Stacktrace)
				err = fmt.Errorf("panic: %v", panicked.V)
			}
			d.Attempts++
			d.LastAt = b.clock.Now()
			if d.FirstAt.IsZero() {
				d.FirstAt = d.LastAt
			}
			b.logger(d).Warn("a handler failed", "error", err, "attempt", d.Attempts)
			return nil, err
		}
	}
}

// poisonQueue is the publisher of watermill's middleware. It stores a dead letter before the message is acknowledged.
type poisonQueue struct{ *Bus }

func (p poisonQueue) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		d := deliveryOf(m)
		d.Error = m.Metadata.Get(middleware.ReasonForPoisonedKey)
		if err := p.bury(context.WithoutCancel(m.Context()), d.Failure); err != nil {
			return err
		}
		d.dead = true
	}
	return nil
}

func (poisonQueue) Close() error { return nil }

// bury stores a dead letter.
func (b *Bus) bury(ctx context.Context, f events.Failure) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := b.letters.Add(ctx, f); err != nil {
		return err
	}
	b.logger(&delivery{Failure: f}).Error("a message is a dead letter", "error", f.Error, "attempts", f.Attempts)
	return nil
}

// resolve deletes the dead letter of a message that was handled later.
func (b *Bus) resolve(ctx context.Context, d *delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return b.letters.Resolve(ctx, d.Message.ID, d.Subscriber)
}

func (b *Bus) logger(d *delivery) *slog.Logger {
	return b.log.With("subscriber", d.Subscriber, "event", d.Message.Name, "message", d.Message.ID)
}

func encode(m events.Message) (*message.Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", m.ID, err)
	}
	return message.NewMessage(m.ID, body), nil
}
