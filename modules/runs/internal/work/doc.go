// Package work carries out submitted runs: it assigns runs to executors under leases, stores what
// the executors report, and ends runs. In the background it takes back or ends runs whose lease expired, and deletes
// runs and events that are past their retention.
//
// It does not make runs, and it does not decide which transitions of a run are allowed: package submit makes runs, and
// package lifecycle decides on transitions.
//
// Everything that ends a run is one unit of work: the rest of its log and events, its summaries, the transition, the
// roll-up into its parent, the message to other contexts and the entry in the trail. A holder that repeats an ending,
// because the answer to the first one was lost, changes nothing.
package work
