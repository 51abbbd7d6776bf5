// Package send makes one try of one delivery: it reads the run, resolves the target and calls the channel or the
// notifier.
package send
