//go:build !race

// The suite closes subscribers in a way that races inside of watermill-nats, which closes its channel while a
// callback sends to it. The bus closes them in another order, which its own tests check under the race detector.

package watermill

import (
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/nats-io/nats.go"
	"github.com/writ-automation/writ/platform/natstest"
)

// suitePair makes a publisher and a subscriber in the configuration of the bus, except the parts that the suite needs
// to control: its own topics, groups that it creates when needed, and old messages for new subscribers.
func suitePair(url, group string) (message.Publisher, message.Subscriber, error) {
	j := newJetStream(url, slog.New(slog.DiscardHandler))
	log := watermill.NewSlogLogger(quiet(j.log))
	cfg := j.config(group)
	cfg.SubscribeOptions = append(cfg.SubscribeOptions, nats.DeliverAll(), nats.AckExplicit())
	pub, err := wmnats.NewPublisher(wmnats.PublisherConfig{
		URL: url, NatsOptions: j.options(), Marshaler: &wmnats.NATSMarshaler{}, JetStream: cfg,
	}, log)
	if err != nil {
		return nil, nil, err
	}
	servers := 1
	if group != "" {
		servers = perServer
	}
	sub, err := wmnats.NewSubscriber(wmnats.SubscriberConfig{
		URL: url, NatsOptions: j.options(), QueueGroupPrefix: group, SubscribersCount: servers,
		AckWaitTimeout: 30 * time.Second, CloseTimeout: 30 * time.Second, Unmarshaler: &wmnats.NATSMarshaler{},
		JetStream: cfg,
	}, log)
	return pub, sub, err
}

// TestPubSubSuite runs watermill's own suite over the publisher and subscriber as they are configured here, with a
// stream for each of the suite's topics.
func TestPubSubSuite(t *testing.T) {
	url := natstest.Start(t)
	open := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		pub, sub, err := suitePair(url, group)
		if err != nil {
			t.Fatal(err)
		}
		return pub, sub
	}
	tests.TestPubSub(t,
		tests.Features{
			ConsumerGroups: true, ExactlyOnceDelivery: false, GuaranteedOrder: true, GuaranteedOrderWithSingleSubscriber: true,
			Persistent: true, NewSubscriberReceivesOldMessages: true, ForceShort: true,
		},
		func(t *testing.T) (message.Publisher, message.Subscriber) { return open(t, "") },
		func(t *testing.T, group string) (message.Publisher, message.Subscriber) { return open(t, group) },
	)
}
