// Package clock is the wall clock as a dependency.
package clock

import "time"

// Clock tells the time of day in UTC, cut to microseconds: what both databases keep and what is hashed. It is for
// display and for schedules; leases and tickets live on a monotonic clock or on the database's.
type Clock interface {
	Now() time.Time
}
