// Package notify stores deliveries and sealed targets in SQL.
//
// # Clocks
//
// Times that are shown use the shared wall clock of all servers. The time when a delivery is due, and so the duration
// of a claim, uses the clock of the leases.
//
// # Locks
//
// A unit that plans deliveries of a run locks the run, so that the run is not deleted meanwhile. A unit that claims
// deliveries skips those that another server is claiming.
package notify
