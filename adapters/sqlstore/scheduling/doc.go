// Package scheduling keeps schedules, their slots, triggers and deliveries in SQL. Of a trigger's token only the hash
// is here.
//
// # Clocks
//
// Due, Settle and ForgetSlots go by the wall clock that every server shares. What ends by itself, the hold of a slot,
// the hold of a delivery and how long one is remembered, goes by the clock of the leases.
//
// # Locks
//
// Whoever changes a schedule and one of its slots changes the schedule first; so do triggers and their deliveries.
package scheduling
