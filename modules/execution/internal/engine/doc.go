// Package engine claims runs, executes them and reports how they ended.
//
// A run is a job from its claim to its end. The engine promises:
//
//   - It starts nothing before the control plane has durably recorded that the run began, and never starts a run
//     again that began: after a crash it ends the run instead.
//   - The first of cancel, timeout, stop and loss that reaches a job decides how it ends; its reason is kept.
//   - A job whose lease is lost is killed and writes nothing more; data that it could not store stays as evidence.
//   - From the tool's exit on, the ending is on disk until the control plane has it.
package engine
