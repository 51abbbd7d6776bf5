// Package runs is the behaviour of the core context: it submits, decides, hands out, ends, shows and drops runs.
//
// New makes everything from stores and a few dependencies and starts nothing; Background is what runs beside the
// requests. Module wires the same for fx.
package runs
