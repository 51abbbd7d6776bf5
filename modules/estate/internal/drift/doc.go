// Package drift reads what dry runs and real runs tell of the fleet, keeps what differs, and makes the runs that repair
// it.
package drift
