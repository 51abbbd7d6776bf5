// Package runs is the contract of the core context: run records, their states, splits, pipelines, logs, events,
// comparison and live streams.
//
// A run is submitted, possibly held, claimed by an executor under a lease with an epoch, executed and ended. Every
// transition is a compare-and-set on the stored state: of two concurrent transitions one succeeds and the other gets
// a Conflict. A run in a terminal state never changes. A process is started at most once for a run.
package runs
