package scheduling

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// tidyFirst keeps a start quick, and tidyEvery is the pause between two passes.
	tidyFirst = time.Minute
	tidyEvery = time.Hour
	// tidyTime bounds one pass.
	tidyTime = 5 * time.Minute
	// slotAge is how long what became of a slot is kept. A slot that is forgotten could fire anew, so it is far longer
	// than any catch-up.
	slotAge = 7 * 24 * time.Hour
)

// Background fires schedules, and deletes slots and deliveries that nobody asks about any more. An install that is
// only read does neither.
type Background struct {
	background.Group
	tidy
}

// tidy deletes what is old.
type tidy struct {
	slots      scheduling.SlotStore
	deliveries scheduling.DeliveryStore
}

func (t tidy) loop() *background.Loop {
	return &background.Loop{Name: "schedule upkeep", Pass: t.Tidy, First: tidyFirst, Every: tidyEvery, Timeout: tidyTime}
}

// Tidy deletes slots and deliveries that are old. What fails keeps nothing else from being done.
func (t tidy) Tidy(ctx context.Context) error {
	return errors.Join(t.slots.ForgetSlots(ctx, slotAge), t.deliveries.ForgetDeliveries(ctx))
}
