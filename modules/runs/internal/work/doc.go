// Package work carries out submitted runs: it assigns runs to executors under leases, stores what
// the executors report, and ends runs. In the background it takes back or ends runs whose lease expired, and deletes
// runs and events that are past their retention.
//
// Package submit makes runs. Package lifecycle decides which transitions are allowed.
//
// The end of a run is one unit of work: the rest of its log and events, its summaries, the transition, the roll-up
// into its parent, the message to other contexts and the entry in the trail. A holder may repeat an ending if the
// response to the first one was lost; the repetition changes nothing.
package work
