package db

import (
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

// leaseClock returns the time of an anchor plus the time since then on the monotonic clock, so that a step of the wall
// clock neither ends leases nor extends them.
type leaseClock struct {
	anchor time.Time
	watch  clock.Stopwatch
}

func newLeaseClock() *leaseClock {
	return &leaseClock{anchor: clock.New().Now(), watch: clock.Start()}
}

// Now returns the current time of the lease clock.
func (c *leaseClock) Now() time.Time { return Cut(c.anchor.Add(c.watch.Elapsed())) }
