// Package output carries what a run says from its tool to those who watch and to the store.
//
//	tool -> mask -> live, at once
//	             -> spool -> pump -> control plane, in batches
//
// The tool never waits for the control plane. The pump's goroutine exists only once something has waited for a
// batch's time: what a short run says is still in the spool when the tool has ended, and rides in the run's ending.
package output
