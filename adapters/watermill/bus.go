package watermill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// Config says where messages travel. An empty URL keeps them in the process; nats://host:port is JetStream.
type Config struct {
	URL string
}

// Params are what a Bus needs. A nil Log discards.
type Params struct {
	Config Config
	Log    *slog.Logger
}

// Bus implements events.Bus.
type Bus struct {
	log    *slog.Logger
	carry  transport
	policy policy

	mu      sync.Mutex
	subs    []events.Subscription
	running bool

	ready chan struct{} // closed once every subscription is open
	over  chan struct{} // closed once Run has returned or returns
}

var _ events.Bus = (*Bus)(nil)

// transport is a watermill publisher and subscriber with what Writ needs of them.
type transport interface {
	// open connects and prepares the subscriptions. It is tried again after an error.
	open(ctx context.Context, subs []events.Subscription) error
	subscribe(ctx context.Context, s events.Subscription) (<-chan *message.Message, error)
	// send returns once the message cannot be lost any more; over ends its wait.
	send(ctx context.Context, over <-chan struct{}, m events.Message) error
	// taken is called before a message is handled, settled after it; handled is false where it must come again.
	taken(m *message.Message)
	settled(m *message.Message, handled bool)
	close() error
}

// New makes a bus. A URL that is neither empty nor of the scheme nats or tls is an Invalid fault. It does not
// connect: Run does.
func New(p Params) (*Bus, error) {
	log := p.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{log: log, policy: defaultPolicy, ready: make(chan struct{}), over: make(chan struct{})}
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

// Subscribe implements events.Bus. A second subscription of the same name to the same event, and any once Run was
// called, is an Internal fault.
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

// Send implements events.Bus. It waits for Run to have opened the subscriptions. After the end of Run it is an
// Unavailable fault, also for messages under way: whether they were handled is unknown then.
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
		return b.carry.send(ctx, b.over, m)
	}
}

func errStopped() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the bus has stopped"}
}

// Run implements events.Bus. It may be called once. Handlers that run when ctx ends see that in their own context;
// Run waits for them.
func (b *Bus) Run(ctx context.Context) error {
	b.mu.Lock()
	if b.running {
		b.mu.Unlock()
		return &fault.Error{Kind: fault.Internal, Message: "the bus runs already"}
	}
	b.running = true
	subs := b.subs
	b.mu.Unlock()

	var servers sync.WaitGroup
	err := b.openAll(ctx, subs, &servers)
	if err == nil {
		close(b.ready)
		<-ctx.Done()
	}
	close(b.over)
	err = errors.Join(err, b.carry.close())
	servers.Wait()
	return err
}

// openAll opens every subscription and serves it. While the transport cannot be reached it goes on trying.
func (b *Bus) openAll(ctx context.Context, subs []events.Subscription, servers *sync.WaitGroup) error {
	wait := 100 * time.Millisecond
	for {
		err := b.carry.open(ctx, subs)
		if err == nil {
			break
		}
		b.log.Warn("the bus cannot be reached", "error", err, "retry_in", wait)
		if !sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, 5*time.Second)
	}
	for _, s := range subs {
		messages, err := b.carry.subscribe(ctx, s)
		if err != nil {
			return fmt.Errorf("subscribe %s to %s: %w", s.Name, s.Event, err)
		}
		servers.Go(func() { b.serve(ctx, s, messages) })
	}
	return nil
}

// sleep waits and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
