package watermill

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/writ-automation/writ/ports/events"
)

// atOnce bounds how many messages a subscription handles at the same time.
const atOnce = 8

// policy is how often a handler is tried, for how long each time, and with what pauses.
type policy struct {
	attempts int
	limit    time.Duration
	pause    time.Duration // doubled twice after each attempt
}

// The whole of it stays below ackWait, or JetStream would deliver the message a second time meanwhile.
var defaultPolicy = policy{attempts: 4, limit: 20 * time.Second, pause: 100 * time.Millisecond}

// serve handles the messages of one subscription until the channel is closed.
func (b *Bus) serve(ctx context.Context, s events.Subscription, messages <-chan *message.Message) {
	slots := make(chan struct{}, atOnce)
	var busy sync.WaitGroup
	for m := range messages {
		slots <- struct{}{}
		b.carry.taken(m)
		busy.Go(func() {
			b.carry.settled(m, b.handle(ctx, s, m))
			<-slots
		})
	}
	busy.Wait()
}

// handle reports whether the message is done with: handled, or given up.
func (b *Bus) handle(ctx context.Context, s events.Subscription, raw *message.Message) bool {
	log := b.log.With("subscriber", s.Name, "event", s.Event, "message", raw.UUID)
	var m events.Message
	if err := json.Unmarshal(raw.Payload, &m); err != nil {
		log.Error("a message cannot be read and is dropped", "error", err)
		return true
	}
	pause := b.policy.pause
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return false
		}
		err := b.try(ctx, s, m)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if n == b.policy.attempts {
			log.Error("a handler failed and the message is dropped", "error", err, "attempts", n)
			return true
		}
		log.Warn("a handler failed", "error", err, "attempt", n, "retry_in", pause)
		if !sleep(ctx, pause) {
			return false
		}
		pause *= 4
	}
}

func (b *Bus) try(ctx context.Context, s events.Subscription, m events.Message) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.policy.limit)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return s.Handle(ctx, m)
}

func encode(m events.Message) (*message.Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", m.ID, err)
	}
	return message.NewMessage(m.ID, body), nil
}
