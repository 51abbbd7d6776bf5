package schedulingtest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit       tx.Unit
	Schedules  scheduling.ScheduleStore
	Slots      scheduling.SlotStore
	Triggers   scheduling.TriggerStore
	Deliveries scheduling.DeliveryStore
	// Restrict changes which readers may read an object.
	Restrict func(ctx context.Context, r Restriction) error
	// Orgs creates organizations with these ids.
	Orgs func(ctx context.Context, ids ...string) error
	// Older makes every stored delivery older by age.
	Older func(ctx context.Context, age time.Duration) error
}

// Restriction hides an object from everyone except the named subjects and the administrators of its organization, if
// it has one.
type Restriction struct {
	Object  string
	Org     string
	Readers []string
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"schedules", scheduleCases()},
		{"slots", slotCases()},
		{"triggers", triggerCases()},
		{"deliveries", deliveryCases()},
		{"scopes", scopeCases()},
		{"races", raceCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, fn := range group.cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					each(t, func(t *testing.T, s Stores) { fn(t, &env{Stores: s}) })
				})
			}
		})
	}
}
