// Package notify keeps deliveries and sealed targets in SQL.
//
// # Clocks
//
// What is told goes by the wall clock that every server shares. When a delivery is due, and so how long a booking
// lasts, goes by the clock of the leases.
//
// # Locks
//
// Whoever plans deliveries of a run holds the run, so that it cannot go meanwhile. Whoever takes some passes over
// those that another server is taking.
package notify
