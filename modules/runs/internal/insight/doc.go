// Package insight answers questions about one run: the matrix of hosts and tasks, the groups of similar failures
// and a search in the log.
//
// The matrix and the failure groups of a run are built from its events by a builder, which takes each event once. The
// builder of a run that reports to this process takes events as they arrive. Any other run is read from the store at
// the first question, and read on at each later one. The number of builders is bounded: the least recently used one
// is dropped, and read again at the next question. The cells of a builder are bounded too.
package insight
