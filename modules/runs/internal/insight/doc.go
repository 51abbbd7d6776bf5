// Package insight answers questions about one run: the matrix of hosts and tasks, the groups of similar failures, a
// search in the log, and the reason for the state of the run.
//
// The matrix and the failure groups of a run are built from its events by a builder, which takes each event once. For
// a run that reports to this process the builder is fed as events arrive; any other is read from the store when
// somebody first asks, and caught up with from then on. A bounded number of builders is kept, the least recently used
// is dropped and read again when it is asked for; none holds more than a bounded number of cells.
package insight
