// Package runs is the behaviour of the core context: it submits, approves, assigns, ends, shows and deletes runs.
//
// New makes everything from stores and a few dependencies and starts nothing. Background is the work that does not
// belong to a request. Module wires both for fx.
package runs
