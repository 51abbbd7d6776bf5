package db

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

// TestLeaseClockIgnoresStepsOfTheWallClock sets the wall clock an hour forward or back: a lease clock that was started
// before advances by the elapsed time.
// Keeps F14.
func TestLeaseClockIgnoresStepsOfTheWallClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := newLeaseClock()
			c.anchor = c.anchor.Add(-step) // as if the wall clock had been set ahead by step
			expires := c.Now().Add(30 * time.Second)
			for range 29 {
				time.Sleep(time.Second)
				if !c.Now().Before(expires) {
					t.Fatalf("after a step of %s the lease is over too early", step)
				}
			}
			time.Sleep(time.Second)
			if c.Now().Before(expires) {
				t.Errorf("after a step of %s the lease is not over", step)
			}
			if off := clock.New().Now().Sub(c.Now()); off != step {
				t.Errorf("the lease clock is %s behind the wall clock, not %s", off, step)
			}
		})
	}
}
