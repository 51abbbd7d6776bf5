package policy

import "time"

// The bounds of a simulation: the runs that it reads, those of them that it reads one by one, the runs of its sample,
// and the days that it covers if it is not told.
const (
	MaxSimulated      = 100_000
	MaxSimulatedAlone = 5000
	MaxSample         = 20
	SimulatedDays     = 30
)

// Simulation says which runs of the past a draft of a policy would have held or denied.
type Simulation struct {
	// From and To are the times between which the runs were created: at or after From and before To.
	From, To                       time.Time
	Scanned, Matched, Held, Denied int
	// ByActor counts what matched by the ids of actors, and by the type of an actor that has none. ByTemplate leaves out
	// runs without a template.
	ByActor, ByTemplate map[string]int
	// Sample are the newest runs that matched, at most MaxSample.
	Sample []string
	// Truncated means that there are more runs than were read; the newest were.
	Truncated bool
}
