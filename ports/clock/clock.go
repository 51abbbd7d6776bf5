// Package clock declares the wall clock as a dependency.
package clock

import "time"

// Clock returns the time of day in UTC, cut to microseconds, the precision of both databases and of hashes. It serves
// display and schedules; leases and tickets use a monotonic clock or the database's.
type Clock interface {
	Now() time.Time
}
