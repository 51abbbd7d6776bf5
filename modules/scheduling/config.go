package scheduling

import (
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// defaultCatchup is by how much a slot may be missed where nothing else is set.
const defaultCatchup = 5 * time.Minute

// Config of the context.
type Config struct {
	// Catchup is by how much a slot may be missed while no server ran and still fires, once; zero is five minutes.
	Catchup time.Duration
	// ReadOnly fires nothing, and drops nothing either.
	ReadOnly bool
}

// Validate returns an Invalid fault that names the first setting that makes no sense.
func (c Config) Validate() error {
	if c.Catchup < 0 {
		return fault.BadField("schedule-catchup", "must not be negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Catchup == 0 {
		c.Catchup = defaultCatchup
	}
	return c
}
