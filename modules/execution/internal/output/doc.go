// Package output carries a run's output and events from its tool to live readers and to the store.
//
//	tool -> mask -> live, at once
//	             -> spool -> pump -> control plane, in batches
//
// The tool never waits for the control plane. The pump's goroutine starts only when data has waited for a batch's
// time: the output of a short run is still in the spool when the tool has ended, and is part of the run's ending.
package output
