// Package lifecycle makes the transitions of runs together with all that belongs in the same unit of work: entries in
// the trail, events for other contexts, wake-ups, and the roll-up into parents.
//
// Rows are locked in one order, children before their parent. Code that ends a child locks the child's row and then
// the parent's; a claim does the same. Code that acts on a whole tree therefore locks the children first, in the
// order of their ids, and the parent last. It starts again if the parent has got a new child meanwhile, since no
// child is locked under a parent's lock. Only rows that the unit itself inserted are written after the parent.
package lifecycle
