// Package notify is the contract of notifications about runs that ended, wait for approval or found drift: the kinds of
// targets, the channels that reach them, and the record of deliveries.
package notify
