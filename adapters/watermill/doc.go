// Package watermill implements events.Bus with watermill: channels inside the process, or NATS JetStream between
// several.
//
// Inside the process Send returns when the subscribers of the message have handled it or it is stored as a dead
// letter, so that an outbox deletes the message only after that and a crash loses nothing. With JetStream Send
// returns when the stream has stored the message. Each subscription is a durable consumer group, so that one of
// several servers handles the message.
//
// Watermill's router calls the handlers. A handler that fails or panics is retried a few times with growing pauses.
// Then the message is stored as a dead letter for that subscriber, before it is acknowledged. A message that can
// neither be handled nor stored is delivered again. Delivery is at least once and unordered.
package watermill
