// Package watermill is events.Bus over watermill: channels inside the process, or NATS JetStream between several.
//
// Inside the process Send returns when every subscriber that the message is for is done with it, so who sends from an
// outbox deletes a message only after that and nothing is lost by a crash. With JetStream Send returns when the stream
// has stored the message; each subscription is a durable consumer group, so that of several servers one handles it.
//
// Watermill's router calls the handlers. One that fails or panics is tried again a few times with growing pauses; then
// the message is stored as a dead letter for that subscriber, before it is acknowledged. A message that can neither be
// handled nor stored comes again. Delivery is at least once and unordered.
package watermill
