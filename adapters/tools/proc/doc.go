// Package proc starts and supervises the process trees of runs.
//
// A tree is one leader in a session of its own and all its descendants. It never outlives its run: when the leader has
// ended or its context is cancelled, the remaining processes are ended too, also those that left the process group.
// They are found by a control group of the run if it can have one, and otherwise by the
// environment variable WRIT_RUN_ID, which every process of a run inherits.
//
// The leader dies with the server: its parent-death signal follows the thread that started it, so one thread, locked
// for the runner's lifetime, starts all leaders. Reap ends processes that outlived their server.
package proc
