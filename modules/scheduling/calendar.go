package scheduling

import (
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
)

// calendar implements policy.Calendar.
type calendar struct{ local *time.Location }

// NewCalendar returns a calendar with the rules of schedules. local is the server's zone.
func NewCalendar(local *time.Location) policy.Calendar { return calendar{local} }

func (c calendar) Times(expr, timezone string) (policy.Times, error) {
	e, err := cron.Parse(expr, timezone, c.local)
	if err != nil {
		return nil, err
	}
	return e.Next, nil
}

// Instant uses an expression for its zone alone.
func (c calendar) Instant(reading time.Time, timezone string) (time.Time, error) {
	e, err := cron.Parse("@hourly", timezone, c.local)
	if err != nil {
		return time.Time{}, err
	}
	at, ok := e.Instant(reading)
	if !ok {
		return time.Time{}, fault.BadField("timezone", "the clock never shows %s", reading.Format("2006-01-02T15:04:05"))
	}
	return at, nil
}
