package clock

import (
	"time"

	"github.com/writ-automation/writ/ports/clock"
)

var _ clock.Clock = System{}

// System is the machine's wall clock.
type System struct{}

// New returns the machine's wall clock.
func New() System { return System{} }

// Now returns the time of day in UTC, cut to microseconds and without a monotonic reading.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Stopwatch measures how long something takes on the monotonic clock, so that a step of the wall clock does not show.
type Stopwatch struct{ start time.Time }

// Start starts a stopwatch.
func Start() Stopwatch { return Stopwatch{start: time.Now()} }

// Elapsed returns the time since the start.
func (s Stopwatch) Elapsed() time.Duration { return time.Since(s.start) }

// Deadline returns the time d from now, for the deadlines of connections.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) }
