package watermill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	stream        = "WRIT_EVENTS"
	subjects      = "writ.events."
	retainFor     = 72 * time.Hour
	retainBytes   = 1 << 30
	ackWait       = 2 * time.Minute
	maxDeliveries = -1 // unlimited: a message that cannot be stored as a dead letter is delivered again
	dedupeFor     = 10 * time.Minute
	drainFor      = 10 * time.Second
	perServer     = 4 // consumers of a subscription in one server
)

// jetStream carries messages over one stream with a durable consumer group for each subscription.
type jetStream struct {
	url string
	log *slog.Logger

	mu   sync.Mutex
	pub  *wmnats.Publisher
	subs []*consumer
}

// consumer is a subscriber with a connection of its own.
type consumer struct {
	*wmnats.Subscriber
	conn   *nats.Conn
	closed chan struct{}
	once   sync.Once
	err    error
}

var _ transport = (*jetStream)(nil)

func newJetStream(url string, log *slog.Logger) *jetStream { return &jetStream{url: url, log: log} }

func (j *jetStream) options() []nats.Option {
	return []nats.Option{
		nats.Name("writ"), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { j.log.Warn("the connection to NATS broke", "error", err) }),
	}
}

func (j *jetStream) config(durable string) wmnats.JetStreamConfig {
	return wmnats.JetStreamConfig{
		TrackMsgId: true, AckAsync: true, DurablePrefix: durable,
		SubscribeOptions: []nats.SubOpt{nats.ManualAck()},
	}
}

// open creates the stream and the consumers if they are missing. It creates the consumers itself, because the client
// deletes consumers that subscribing created when it closes.
func (j *jetStream) open(ctx context.Context, subs []events.Subscription) error {
	conn, err := nats.Connect(j.url, j.options()...)
	if err != nil {
		return err
	}
	if err := prepare(ctx, conn, subs); err != nil {
		conn.Close()
		return err
	}
	pub, err := wmnats.NewPublisherWithNatsConn(conn, wmnats.PublisherPublishConfig{
		Marshaler: &wmnats.NATSMarshaler{}, SubjectCalculator: wmnats.DefaultSubjectCalculator, JetStream: j.config(""),
	}, watermill.NewSlogLogger(quiet(j.log)))
	if err != nil {
		conn.Close()
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pub = pub
	return nil
}

func prepare(ctx context.Context, conn *nats.Conn, subs []events.Subscription) error {
	js, err := conn.JetStream()
	if err != nil {
		return err
	}
	cfg := &nats.StreamConfig{
		Name: stream, Subjects: []string{subjects + ">"}, MaxAge: retainFor, MaxBytes: retainBytes, Duplicates: dedupeFor,
		Storage: nats.FileStorage, Discard: nats.DiscardOld,
	}
	if _, err := js.AddStream(cfg, nats.Context(ctx)); err != nil && !errors.Is(err, nats.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("make the stream: %w", err)
	}
	for _, s := range subs {
		name := durable(s)
		want := &nats.ConsumerConfig{
			Durable: name, DeliverGroup: name, DeliverSubject: "writ.deliver." + name, FilterSubject: subjects + s.Event,
			DeliverPolicy: nats.DeliverNewPolicy, AckPolicy: nats.AckExplicitPolicy, AckWait: ackWait,
			MaxDeliver: maxDeliveries, MaxAckPending: underWay,
		}
		_, err := js.AddConsumer(stream, want, nats.Context(ctx))
		if errors.Is(err, nats.ErrConsumerNameAlreadyInUse) { // an older binary created it with other settings
			_, err = js.UpdateConsumer(stream, want, nats.Context(ctx))
		}
		if err != nil {
			return fmt.Errorf("make the consumer %s: %w", name, err)
		}
	}
	return nil
}

// durable returns the name of a subscription's consumer. It has no dots, which would split a subject.
func durable(s events.Subscription) string {
	return strings.NewReplacer(".", "_", " ", "_", "*", "_", ">", "_", "/", "_").Replace(s.Name + "__" + s.Event)
}

func (j *jetStream) subscriber(s events.Subscription) (message.Subscriber, string, error) {
	c := &consumer{closed: make(chan struct{})}
	options := append(j.options(), nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }), nats.DrainTimeout(drainFor))
	var err error
	if c.conn, err = nats.Connect(j.url, options...); err != nil {
		return nil, "", err
	}
	name := durable(s)
	c.Subscriber, err = wmnats.NewSubscriberWithNatsConn(c.conn, wmnats.SubscriberSubscriptionConfig{
		QueueGroupPrefix: name, SubscribersCount: perServer, AckWaitTimeout: ackWait, CloseTimeout: drainFor,
		Unmarshaler: &wmnats.NATSMarshaler{}, NakDelay: wmnats.NewStaticDelay(time.Second), JetStream: j.config(name),
	}, watermill.NewSlogLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		c.conn.Close()
		return nil, "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subs = append(j.subs, c)
	return c, subjects + s.Event, nil
}

// Subscribe closes the consumer when ctx ends. The router does not always do that: if it learns of its own end and of
// the end of ctx at once, it may skip Close. The end of ctx is hidden from watermill's subscriber, since that would
// close its channel while callbacks may still send to it.
func (c *consumer) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	context.AfterFunc(ctx, func() { _ = c.Close() }) // the bus closes the consumer as well and reports the error
	return c.Subscriber.Subscribe(context.WithoutCancel(ctx), topic)
}

// Close closes the connection before the subscriber. The subscriber closes its channel, and only after the end of the
// connection no callback sends to it.
func (c *consumer) Close() error {
	c.once.Do(func() {
		if err := c.conn.Drain(); err != nil {
			c.conn.Close()
		}
		<-c.closed
		if err := c.Subscriber.Close(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			c.err = err
		}
	})
	return c.err
}

func (j *jetStream) send(_ context.Context, _ <-chan struct{}, m events.Message) error {
	msg, err := encode(m)
	if err != nil {
		return err
	}
	switch { // the stream drops a second message of one id
	case m.Redelivered:
		msg.UUID = watermill.NewUUID()
	case m.To != "":
		msg.UUID += " " + m.To
	}
	j.mu.Lock()
	pub := j.pub
	j.mu.Unlock()
	if err := pub.Publish(subjects+m.Name, msg); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the bus does not answer")
	}
	return nil
}

// settle lets the router acknowledge the message, or have it delivered again.
func (j *jetStream) settle(_ *message.Message, err error) error { return err }

func (j *jetStream) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, c := range j.subs {
		errs = append(errs, c.Close())
	}
	if j.pub != nil {
		errs = append(errs, j.pub.Close())
	}
	return errors.Join(errs...)
}
