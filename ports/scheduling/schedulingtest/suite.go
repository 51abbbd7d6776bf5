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
	// Restrict changes who may read an object.
	Restrict func(ctx context.Context, r Restriction) error
	// Orgs makes organizations of these ids exist.
	Orgs func(ctx context.Context, ids ...string) error
	// Older makes every delivery that is remembered as old as the age says.
	Older func(ctx context.Context, age time.Duration) error
}

// Restriction lets nobody read an object but the subjects named, and the administrators of the organization that it
// belongs to where one is named.
type Restriction struct {
	Object  string
	Org     string
	Readers []string
}

// Each opens fresh stores, once for each way in which the implementation can be set up, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run holds an implementation to the contract.
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
