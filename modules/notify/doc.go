// Package notify implements notifications of runs: it plans deliveries when a run ended or is held, tries them a few
// times, and reports their states.
//
// New constructs everything from stores and a few dependencies and starts nothing; Background is the work beside the
// requests. Module wires the same for fx. NewTargets returns the service that seals targets.
package notify
