package scheduling

import "time"

const (
	// DefaultPreview is how many times a preview tells when nobody says how many.
	DefaultPreview = 5
	// MaxPreview is how many it tells at most; more are answered with this many.
	MaxPreview = 50
)

// Preview tells when an expression fires next.
type Preview struct {
	Cron     string
	Timezone string      // IANA zone, empty for the server's local time
	Next     []time.Time // ascending, UTC; fewer than asked for, or none, where the expression fires no more
	Notes    []string    // what a person may not expect: skipped and repeated hours, days that do not exist, never
}

// Planner tells when expressions fire.
type Planner interface {
	// Preview tells the next firings from now on: count of them, DefaultPreview for 0 and at most MaxPreview. Without a
	// timezone it is the server's local time. Invalid faults name cron, timezone or count.
	Preview(cron, timezone string, count int) (Preview, error)
}
