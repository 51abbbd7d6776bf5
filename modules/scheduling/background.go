package scheduling

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// tidyFirst delays the first pass after a start, and tidyEvery is the pause between two passes.
	tidyFirst = time.Minute
	tidyEvery = time.Hour
	// tidyTime is the timeout of one pass.
	tidyTime = 5 * time.Minute
	// slotAge is how long a settled slot is stored. A deleted slot could fire again, so the time is far longer than
	// any catch-up.
	slotAge = 7 * 24 * time.Hour
)

// Background fires schedules, and deletes old slots and deliveries. A read-only install does neither.
type Background struct {
	background.Group
	tidy
}

// tidy deletes old slots and deliveries.
type tidy struct {
	slots      scheduling.SlotStore
	deliveries scheduling.DeliveryStore
}

func (t tidy) loop() *background.Loop {
	return &background.Loop{Name: "schedule upkeep", Pass: t.Tidy, First: tidyFirst, Every: tidyEvery, Timeout: tidyTime}
}

// Tidy deletes old slots and deliveries. A failure of one deletion does not prevent the other.
func (t tidy) Tidy(ctx context.Context) error {
	return errors.Join(t.slots.ForgetSlots(ctx, slotAge), t.deliveries.ForgetDeliveries(ctx))
}
