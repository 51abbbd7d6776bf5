package watermill

import (
	"context"
	"log/slog"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/writ-automation/writ/ports/events"
)

// underWay bounds how many messages are between Send and the end of their handlers.
const underWay = 256

// local carries messages over channels. Each message brings a receipt along, which its sender waits for.
type local struct {
	pubsub *gochannel.GoChannel
	slots  chan struct{}
	counts map[string]int // subscriptions by event; fixed before the first send
}

var _ transport = (*local)(nil)

type receiptKey struct{}

// receipt counts the subscribers that have not settled a message.
type receipt struct {
	mu   sync.Mutex
	left int
	lost bool
	done chan struct{}
}

func newLocal(log *slog.Logger) *local {
	cfg := gochannel.Config{OutputChannelBuffer: underWay, PreserveContext: true}
	return &local{pubsub: gochannel.NewGoChannel(cfg, watermill.NewSlogLogger(quiet(log))), slots: make(chan struct{}, underWay)}
}

func (l *local) open(_ context.Context, subs []events.Subscription) error {
	l.counts = map[string]int{}
	for _, s := range subs {
		l.counts[s.Event]++
	}
	return nil
}

func (l *local) subscribe(_ context.Context, s events.Subscription) (<-chan *message.Message, error) {
	// The channel is closed by close, so that messages under way are settled and not left in it.
	return l.pubsub.Subscribe(context.Background(), s.Event)
}

func (l *local) send(ctx context.Context, over <-chan struct{}, m events.Message) error {
	if l.counts[m.Name] == 0 {
		return nil
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-over:
		return errStopped()
	case <-ctx.Done():
		return ctx.Err()
	}
	msg, err := encode(m)
	if err != nil {
		return err
	}
	r := &receipt{left: l.counts[m.Name], done: make(chan struct{})}
	msg.SetContext(context.WithValue(context.WithoutCancel(ctx), receiptKey{}, r))
	if err := l.pubsub.Publish(m.Name, msg); err != nil {
		return errStopped()
	}
	select {
	case <-r.done:
		if r.lost {
			return errStopped()
		}
		return nil
	case <-over:
		return errStopped()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// taken acknowledges to the channel at once, which else would hand out one message at a time.
func (l *local) taken(m *message.Message) { m.Ack() }

func (l *local) settled(m *message.Message, handled bool) {
	r, ok := m.Context().Value(receiptKey{}).(*receipt)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = r.lost || !handled
	if r.left--; r.left == 0 {
		close(r.done)
	}
}

func (l *local) close() error { return l.pubsub.Close() }
