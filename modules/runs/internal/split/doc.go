// Package split divides the hosts of a split over its shards and derives the split's end from theirs. It holds no
// state and reads nothing.
package split
