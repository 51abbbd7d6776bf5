package scheduling

import (
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/scheduling"
)

// planner implements scheduling.Planner.
type planner struct {
	clock clock.Clock
	local *time.Location
}

// NewPlanner returns a planner. local is the server's zone, loaded by its name if that is known.
func NewPlanner(c clock.Clock, local *time.Location) scheduling.Planner {
	return planner{clock: c, local: local}
}

func (p planner) Preview(expr, timezone string, count int) (scheduling.Preview, error) {
	e, err := cron.Parse(expr, timezone, p.local)
	if err != nil {
		return scheduling.Preview{}, err
	}
	return e.Preview(p.clock.Now(), count)
}
