// Package fire creates the runs of schedules.
//
// Every server does this. The store leases a slot to one server when that server moves the schedule to its next slot.
// If the server records neither a run nor a reason within the lease, another server takes the slot over. Because a
// stalled server may continue later, every server creates the run with the same idempotency key, so there is only one
// run.
package fire
