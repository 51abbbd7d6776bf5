// Package stream sends the progress of a run to its followers while it runs.
//
// The hub holds the newest output and events of each followed run, within bounds. A follower takes from the hub what
// continues its position, and reads everything else from the store, which is authoritative. A slow follower, or one
// of a run in another process, therefore gets the same bytes a little later. A reporting executor never waits for a
// follower.
package stream
