// Package send makes one try of one delivery: it reads the run, finds where the target leads and calls the channel or
// the notifier.
package send
