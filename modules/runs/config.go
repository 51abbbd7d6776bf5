package runs

import (
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Config holds the settings of this context. Zero members take their defaults, but for the two retentions, where
// zero keeps everything.
type Config struct {
	// LogCap is about how many bytes of one run's output are kept; the middle of a longer one is dropped.
	LogCap int64
	// RetainRuns is how long ended runs are kept, RetainEvents how long their events are.
	RetainRuns   time.Duration
	RetainEvents time.Duration
	// SweepEvery is how often lost holders are looked for, PurgeEvery how often retention runs. Its first pass comes
	// a minute after the start.
	SweepEvery time.Duration
	PurgeEvery time.Duration
	// PollEvery is how often a live stream looks at the store by itself, BeatAfter how long it stays silent.
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

// minLogCap leaves room for a beginning and an end of a few chunks each.
const minLogCap = 64 << 10

// Validate returns an Invalid fault that names a setting which makes no sense.
func (c *Config) Validate() error {
	if c.LogCap != 0 && c.LogCap < minLogCap {
		return fault.BadField("log_cap", "must be at least %d bytes", minLogCap)
	}
	for name, d := range map[string]time.Duration{
		"retain_runs": c.RetainRuns, "retain_events": c.RetainEvents, "sweep_every": c.SweepEvery,
		"purge_every": c.PurgeEvery, "poll_every": c.PollEvery, "beat_after": c.BeatAfter,
	} {
		if d < 0 {
			return fault.BadField(name, "must not be negative")
		}
	}
	return nil
}

// withDefaults returns the settings with what was left open filled in.
func (c Config) withDefaults() Config {
	if c.LogCap == 0 {
		c.LogCap = DefaultLogCap
	}
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
