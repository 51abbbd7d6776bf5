// Package notify is the contract of notifications about runs that ended or wait for approval: the kinds of targets,
// the channels that reach them, and the record of deliveries.
package notify
