package runs

import (
	"cmp"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Config holds the settings of this context. Zero members take their defaults, except the two retentions and the
// time for approvals, where zero is no end.
type Config struct {
	// LogCap is the approximate number of bytes that are stored of one run's output. The middle of a longer output is
	// dropped.
	LogCap int64
	// RetainRuns is how long ended runs are stored, RetainEvents how long their events are.
	RetainRuns   time.Duration
	RetainEvents time.Duration
	// ApprovalTTL is how long a run may be held before it is rejected; zero is for ever.
	ApprovalTTL time.Duration
	// Serves are the queues of this process's own executors.
	Serves []string
	// ReadOnly leaves the refreshes of inventories of held runs to other servers.
	ReadOnly bool
	// SweepEvery is the interval of the search for lost holders, PurgeEvery that of retention. The first retention
	// pass runs a minute after the start.
	SweepEvery time.Duration
	PurgeEvery time.Duration
	// PollEvery is how often a live stream reads the store without a signal. BeatAfter is how long it sends nothing
	// before it sends a beat.
	PollEvery time.Duration
	BeatAfter time.Duration
}

// The defaults.
const (
	DefaultLogCap     = 256 << 20
	DefaultSweepEvery = 5 * time.Second
	DefaultPurgeEvery = 10 * time.Minute
	DefaultPollEvery  = 500 * time.Millisecond
	DefaultBeatAfter  = 15 * time.Second
)

// minLogCap holds a few chunks of the beginning and a few of the end.
const minLogCap = 64 << 10

// Validate returns an Invalid fault that names the first invalid setting.
func (c *Config) Validate() error {
	if c.LogCap != 0 && c.LogCap < minLogCap {
		return fault.BadField("log_cap", "must be at least %d bytes", minLogCap)
	}
	for name, d := range map[string]time.Duration{
		"retain_runs": c.RetainRuns, "retain_events": c.RetainEvents, "approval_ttl": c.ApprovalTTL,
		"sweep_every": c.SweepEvery,
		"purge_every": c.PurgeEvery, "poll_every": c.PollEvery, "beat_after": c.BeatAfter,
	} {
		if d < 0 {
			return fault.BadField(name, "must not be negative")
		}
	}
	return nil
}

// withDefaults returns the settings with the defaults of zero members.
func (c Config) withDefaults() Config {
	c.LogCap = cmp.Or(c.LogCap, DefaultLogCap)
	for _, d := range []struct {
		at       *time.Duration
		fallback time.Duration
	}{
		{&c.SweepEvery, DefaultSweepEvery}, {&c.PurgeEvery, DefaultPurgeEvery},
		{&c.PollEvery, DefaultPollEvery}, {&c.BeatAfter, DefaultBeatAfter},
	} {
		if *d.at == 0 {
			*d.at = d.fallback
		}
	}
	return c
}
