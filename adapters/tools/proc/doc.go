// Package proc starts and supervises the process trees of runs.
//
// A tree is one leader in a session of its own and everything that descends from it. It never outlives its run: when
// the leader has ended, or its context is cancelled, whatever is left is ended too, also what left the process group.
// Such processes are found by a control group of the run's own where the cgroup v2 hierarchy is writable, and
// otherwise by the environment variable WRIT_RUN_ID, which every process of a run inherits.
//
// The leader dies with the server: its parent-death signal follows the thread that started it, so one thread, locked
// for the runner's lifetime, starts them all. What a dead server nevertheless left behind is ended by Reap.
package proc
