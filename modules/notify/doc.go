// Package notify is the behaviour of who hears of runs: it plans who is told when a run ended or is held, delivers
// that with a few tries, and tells what became of it.
//
// New makes everything from stores and a few dependencies and starts nothing; Background is what runs beside the
// requests. Module wires the same for fx. Targets are kept by what NewTargets returns.
package notify
