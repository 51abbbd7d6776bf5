package watermill

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/writ-automation/writ/ports/events"
)

// underWay is how many messages of a subscription wait for their handlers.
const underWay = 256

// local carries messages over channels. Each message has a receipt, which its sender waits for.
type local struct {
	pubsub *gochannel.GoChannel
	topics map[string][]string // by event; fixed before the first send
}

var _ transport = (*local)(nil)

type receiptKey struct{}

// receipt receives the result of a message from its subscriber, nil for success.
type receipt chan error

func newLocal(log *slog.Logger) *local {
	cfg := gochannel.Config{OutputChannelBuffer: underWay, PreserveContext: true}
	return &local{pubsub: gochannel.NewGoChannel(cfg, watermill.NewSlogLogger(quiet(log)))}
}

// topic returns the topic of one subscriber. Each has its own, so that none waits for another.
func topic(subscriber, event string) string { return subscriber + " " + event }

func (l *local) open(_ context.Context, subs []events.Subscription) error {
	l.topics = map[string][]string{}
	for _, s := range subs {
		l.topics[s.Event] = append(l.topics[s.Event], topic(s.Name, s.Event))
	}
	return nil
}

func (l *local) subscriber(s events.Subscription) (message.Subscriber, string, error) {
	return l.pubsub, topic(s.Name, s.Event), nil
}

func (l *local) send(ctx context.Context, over <-chan struct{}, m events.Message) error {
	topics := l.topics[m.Name]
	if m.To != "" {
		topics = []string{topic(m.To, m.Name)}
	}
	done := make(receipt, len(topics))
	for _, to := range topics {
		msg, err := encode(m)
		if err != nil {
			return err
		}
		msg.SetContext(context.WithValue(context.WithoutCancel(ctx), receiptKey{}, done))
		if err := l.pubsub.Publish(to, msg); err != nil {
			return errStopped()
		}
	}
	var errs []error
	for range topics {
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-over:
			return errStopped()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// settle passes the result to the sender. It acknowledges the message in any case, since the sender sends it again
// after an error.
func (l *local) settle(m *message.Message, err error) error {
	if done, ok := m.Context().Value(receiptKey{}).(receipt); ok {
		done <- err
	}
	return nil
}

func (l *local) close() error { return l.pubsub.Close() }
