package scheduling

import "time"

const (
	// DefaultPreview is the default number of times in a preview.
	DefaultPreview = 5
	// MaxPreview is the largest number; a larger one is reduced to it.
	MaxPreview = 50
)

// Preview lists the next firings of an expression.
type Preview struct {
	Cron     string
	Timezone string      // IANA zone, empty for the server's local time
	Next     []time.Time // ascending, UTC; fewer than requested if the expression stops firing
	Notes    []string    // warnings: skipped and repeated hours, days that do not exist, never
}

// Planner computes the firings of expressions.
type Planner interface {
	// Preview returns the next count firings from now, DefaultPreview for 0 and at most MaxPreview. An empty timezone
	// is the server's local time. Invalid faults name cron, timezone or count.
	Preview(cron, timezone string, count int) (Preview, error)
}
