// Package upkeep does the periodic work of the trail: it signs the head while the chain grows, saves signed heads in
// the head file and as anchors, writes tiles, and records beats.
//
// Its boundary: the one background goroutine of the trail on a server.
package upkeep
