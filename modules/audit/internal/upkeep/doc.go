// Package upkeep is what the trail does without being asked: it signs the head while the chain grows, keeps the
// signed heads in the head file and as anchors, writes tiles, and says from time to time that the service is alive.
//
// Its boundary: the one goroutine of the trail on a server, from its start to its end.
package upkeep
