// Package outbox makes events leave exactly when their change commits: Writer stores them in the unit of work, one row
// for each subscriber, and Relay hands what was stored to the bus and deletes it afterwards.
//
// A message is deleted once the bus has taken it, in a unit of its own, so a crash between the two repeats it:
// delivery is at least once. With several servers each may relay the same message; receivers are idempotent on its id.
package outbox
