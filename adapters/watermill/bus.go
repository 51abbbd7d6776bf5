package watermill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// Config selects the transport. An empty URL keeps messages in the process; nats://host:port is JetStream.
type Config struct {
	URL string
}

// Params are the dependencies of a Bus. A nil Log discards.
type Params struct {
	Config  Config
	Letters events.DeadLetters
	Clock   clock.Clock
	Log     *slog.Logger
}

// Bus implements events.Bus by watermill's router.
type Bus struct {
	letters events.DeadLetters
	clock   clock.Clock
	log     *slog.Logger
	carry   transport
	policy  policy

	mu      sync.Mutex
	subs    []events.Subscription
	running bool

	ready chan struct{} // closed once every subscription is open
	over  chan struct{} // closed once Run has returned or returns
}

var _ events.Bus = (*Bus)(nil)

// transport is a watermill publisher and subscriber with what Writ needs of them.
type transport interface {
	// open connects and prepares the subscriptions. The bus retries it after an error.
	open(ctx context.Context, subs []events.Subscription) error
	// subscriber returns the subscriber of a subscription and its topic. The router closes it.
	subscriber(s events.Subscription) (message.Subscriber, string, error)
	// send returns when the message can no longer be lost; over ends its wait.
	send(ctx context.Context, over <-chan struct{}, m events.Message) error
	// settle is called when the message is handled or stored, or with an error if it must be delivered again. The
	// router acknowledges the message unless settle returns an error.
	settle(m *message.Message, err error) error
	close() error
}

// New makes a bus. A URL that is neither empty nor of the scheme nats or tls is an Invalid fault. It does not
// connect: Run does.
func New(p Params) (*Bus, error) {
	if p.Letters == nil || p.Clock == nil {
		return nil, &fault.Error{Kind: fault.Internal, Message: "the bus needs dead letters and a clock"}
	}
	log := cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	b := &Bus{
		letters: p.Letters, clock: p.Clock, log: log, policy: defaultPolicy,
		ready: make(chan struct{}), over: make(chan struct{}),
	}
	switch {
	case p.Config.URL == "":
		b.carry = newLocal(log)
	case strings.HasPrefix(p.Config.URL, "nats://"), strings.HasPrefix(p.Config.URL, "tls://"):
		b.carry = newJetStream(p.Config.URL, log)
	default:
		return nil, &fault.Error{Kind: fault.Invalid, Message: "the bus is neither empty nor a nats:// URL"}
	}
	return b, nil
}

// Subscribe adds a subscription. A second one with the same name and event, and any after Run was called, is an
// Internal fault.
func (b *Bus) Subscribe(s events.Subscription) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running {
		return &fault.Error{Kind: fault.Internal, Message: "the bus runs already: subscribe before"}
	}
	if s.Name == "" || s.Event == "" || s.Handle == nil {
		return &fault.Error{Kind: fault.Internal, Message: "a subscription needs a name, an event and a handler"}
	}
	for _, other := range b.subs {
		if other.Name == s.Name && other.Event == s.Event {
			return &fault.Error{Kind: fault.Internal, Message: fmt.Sprintf("%s subscribed to %s already", s.Name, s.Event)}
		}
	}
	b.subs = append(b.subs, s)
	return nil
}

// Send waits until Run has opened the subscriptions. After the end of Run it returns an Unavailable fault, also for
// messages in flight, which may have been handled.
func (b *Bus) Send(ctx context.Context, m events.Message) error {
	select {
	case <-b.ready:
	case <-b.over:
		return errStopped()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-b.over:
		return errStopped()
	default:
	}
	if m.To != "" && !b.subscribed(m) {
		now := b.clock.Now()
		return b.bury(ctx, events.Failure{
			Message: m, Subscriber: m.To, Attempts: 1, FirstAt: now, LastAt: now,
			Error: "this server has no such subscriber; another version may have one",
		})
	}
	return b.carry.send(ctx, b.over, m)
}

// subscribed reports whether this bus has the subscriber of a message.
func (b *Bus) subscribed(m events.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.subs, func(s events.Subscription) bool { return s.Name == m.To && s.Event == m.Name })
}

func errStopped() error {
	return fault.Wrap(fault.Unavailable, context.Canceled, "the bus has stopped")
}

// closeTimeout bounds how long Run waits for handlers that ignore their context.
const closeTimeout = time.Minute

// Run may be called once. When ctx ends, the contexts of running handlers end too; Run waits for these handlers.
func (b *Bus) Run(ctx context.Context) error {
	b.mu.Lock()
	if b.running {
		b.mu.Unlock()
		return &fault.Error{Kind: fault.Internal, Message: "the bus runs already"}
	}
	b.running = true
	subs := b.subs
	b.mu.Unlock()

	router, err := b.open(ctx, subs)
	if router == nil {
		close(b.over)
		return errors.Join(err, b.carry.close())
	}
	routed := make(chan error, 1)
	go func() { routed <- router.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-router.Running():
		close(b.ready)
		<-ctx.Done()
		close(b.over)
		err = errors.Join(router.Close(), <-routed)
	case err = <-routed: // a subscription could not be opened
		close(b.over)
		err = errors.Join(err, router.Close())
	}
	return errors.Join(err, b.carry.close())
}

// open retries until it is connected, and returns a router with a handler for each subscription. It returns no router
// if ctx ends first.
func (b *Bus) open(ctx context.Context, subs []events.Subscription) (*message.Router, error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := b.carry.open(ctx, subs)
		if err == nil {
			break
		}
		b.log.Warn("the bus cannot be reached", "error", err, "retry_in", wait)
		if !background.Wait(ctx, wait) {
			return nil, nil
		}
	}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: closeTimeout},
		watermill.NewSlogLogger(quiet(b.log)))
	if err != nil {
		return nil, fmt.Errorf("make the router: %w", err)
	}
	for _, s := range subs {
		chain, err := b.middlewares(ctx, s)
		if err != nil {
			return nil, err
		}
		subscriber, topic, err := b.carry.subscriber(s)
		if err != nil {
			return nil, fmt.Errorf("subscribe %s to %s: %w", s.Name, s.Event, err)
		}
		router.AddConsumerHandler(s.Name+" "+s.Event, topic, subscriber, handler(s)).AddMiddleware(chain...)
	}
	return router, nil
}
