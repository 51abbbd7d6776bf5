// Package notify is the contract of who hears that a run ended or waits for approval: the kinds of targets, the
// channels that reach them, and the record of what was sent.
package notify
