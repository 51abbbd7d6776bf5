// Package admission decides which workers may use the relay, under which names and for which queues, and manages their
// tokens. It asks the store each time, so that a revocation is in force with the next question, on every server.
package admission
