// Package lifecycle makes the transitions of runs together with everything that has to happen in the same unit of
// work: entries in the trail, events for other contexts, wake-ups, and the roll-up into parents.
//
// Rows are locked in one order, children before their parent. Whoever ends a child holds the child's row and then asks
// for the parent's; a claim does the same. What acts on a whole tree therefore touches the children first, in the order
// of their ids, and the parent last, and starts again should the parent have got a new child in between, since no child
// is ever touched under a parent's lock. Only rows that did not exist before the unit are written after the parent.
package lifecycle
