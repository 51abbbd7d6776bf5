// Package stream lets people follow a run while it happens.
//
// The hub keeps, for runs that somebody follows and for no others, a bounded stretch of the newest output and events.
// A follower takes from there what fits to what it has told already and reads everything else from the store, which
// alone is the truth: one that is slow, or that follows a run of another process, sees the same bytes a little later.
// Whoever reports never waits for whoever watches.
package stream
