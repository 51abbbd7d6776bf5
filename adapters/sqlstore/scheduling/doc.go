// Package scheduling stores schedules, their slots, triggers and deliveries in SQL. It stores only the hash of a
// trigger's token.
//
// # Clocks
//
// Due, Settle and ForgetSlots use the shared wall clock. Expiry uses the clock of the leases: the lease of a slot, the
// lease of a delivery and the lifetime of a delivery's id.
//
// # Locks
//
// A unit that changes a schedule and one of its slots changes the schedule first. The same order applies to triggers
// and deliveries.
package scheduling
