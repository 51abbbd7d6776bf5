// Package notify is the REST surface of notifications, and makes the record of a run that they carry.
package notify
