package scheduling

import (
	"cmp"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// defaultCatchup is the default of Config.Catchup.
const defaultCatchup = 5 * time.Minute

// Config is the configuration of the context.
type Config struct {
	// Catchup is the largest delay after which a slot that was due while no server ran still fires, once. Zero is five
	// minutes.
	Catchup time.Duration
	// ReadOnly disables firing and deleting.
	ReadOnly bool
}

// Validate returns an Invalid fault that names the first invalid setting.
func (c Config) Validate() error {
	if c.Catchup < 0 {
		return fault.BadField("schedule-catchup", "must not be negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Catchup = cmp.Or(c.Catchup, defaultCatchup)
	return c
}
