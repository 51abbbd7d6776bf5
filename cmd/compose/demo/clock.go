package demo

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/ids"
)

// Clock is a clock that is set while content is made, and shows the time of day after Release.
type Clock struct {
	real  clock.Clock
	mu    sync.Mutex
	at    time.Time // zero after Release
	start time.Time
}

var _ clock.Clock = (*Clock)(nil)

// NewClock returns a clock that shows the beginning of the history, at a full minute, as schedules fire.
func NewClock(real clock.Clock) *Clock {
	start := real.Now().Truncate(time.Minute).Add(-History)
	return &Clock{real: real, at: start, start: start}
}

// Now returns the time that was set last, and the time of day after Release.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return c.real.Now()
	}
	return c.at
}

// Set sets the time. A time before the present one is ignored, so that the clock never runs back.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && t.After(c.at) {
		c.at = t.Truncate(time.Microsecond)
	}
}

// Release makes the clock show the time of day.
func (c *Clock) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// elapsed returns the time since the beginning of the history, false after Release.
func (c *Clock) elapsed() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Sub(c.start), !c.at.IsZero()
}

// epoch is the time in the first ids. It is fixed, so that equal content has equal ids.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// IDs makes the same ids in the same order in each demo until its clock is released, and then those of another
// generator.
type IDs struct {
	clock *Clock
	after ids.Generator

	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64
}

var _ ids.Generator = (*IDs)(nil)

// NewIDs returns a generator for a clock.
func NewIDs(c *Clock, after ids.Generator) *IDs {
	return &IDs{clock: c, after: after, entropy: ulid.Monotonic(rand.NewChaCha8(seed("ids")), 0)}
}

// New returns an id.
func (g *IDs) New(p ids.Prefix) string {
	d, making := g.clock.elapsed()
	if !making {
		return g.after.New(p)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, ulid.Timestamp(epoch().Add(d)))
	for {
		id, err := ulid.New(g.last, g.entropy)
		if err == nil {
			return string(p) + strings.ToLower(id.String())
		}
		g.last++ // more ids than one millisecond has
	}
}

// newRandom returns the same sequence of random numbers in each demo.
func newRandom(name string) *rand.Rand { return rand.New(rand.NewChaCha8(seed(name))) }

// seed returns the seed of a sequence of random numbers.
func seed(name string) (s [32]byte) {
	copy(s[:], "demo "+name)
	return s
}
