// Package outbox sends an event if and only if its change commits: Writer stores the event in the unit of work, one row
// for each subscriber, and Relay hands the stored rows to the bus and deletes them afterwards.
//
// A message is deleted after the bus has accepted it, in a unit of its own, so a crash between the two repeats it:
// delivery is at least once. Several servers may relay the same message; receivers are idempotent on its id.
package outbox
