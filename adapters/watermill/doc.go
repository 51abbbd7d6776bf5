// Package watermill is events.Bus over watermill: channels inside the process, or NATS JetStream between several.
//
// Inside the process Send returns when every subscriber has handled the message, so who sends from an outbox deletes
// a message only after that and nothing is lost by a crash. With JetStream Send returns when the stream has stored
// the message; each subscription is a durable consumer group, so that of several servers one handles it.
//
// A handler that fails or panics is tried again a few times with growing pauses; then the message is logged and
// dropped for that subscriber. Delivery is at least once and unordered.
package watermill
