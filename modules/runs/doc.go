// Package runs is the behaviour of the core context: it submits, approves, assigns, ends, shows and deletes runs.
//
// New makes the context from stores and a few dependencies and starts nothing. Background is the work beside the
// requests. Module wires both for fx.
package runs
