// Package engine claims runs, executes them and reports how they ended.
//
// A run is a job from its claim to its end. What is promised about it:
//
//   - Nothing is started before the control plane has durably noted that the run began, and a run that began is
//     never started again: after a crash it is ended, not repeated.
//   - The first of cancel, timeout, stop and loss that reaches a job decides how it ends; its reason is kept.
//   - A job whose lease is lost is killed and writes nothing more; what it could not store stays as evidence.
//   - From the tool's exit on, the ending is on disk until the control plane has it.
package engine
