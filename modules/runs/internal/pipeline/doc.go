// Package pipeline judges the graph of a pipeline: whether it is one, and what has to happen next in it. It holds
// no state and reads nothing.
package pipeline
