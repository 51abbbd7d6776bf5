// Package work is the side that executors see: it hands out runs under leases, takes what their holders report, and
// ends what nobody holds any more.
//
// Everything that ends a run is one unit of work: the rest of its log and events, its summaries, the transition, the
// roll-up into its parent, the message to other contexts and the entry in the trail. A holder that repeats an ending,
// because the answer to the first one was lost, changes nothing.
package work
