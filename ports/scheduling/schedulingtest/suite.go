package schedulingtest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
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

func newEnv(s Stores) *env { return &env{Stores: s} }

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "schedules", Cases: scheduleCases()},
		{Name: "slots", Cases: slotCases()},
		{Name: "triggers", Cases: triggerCases()},
		{Name: "deliveries", Cases: deliveryCases()},
		{Name: "scopes", Cases: scopeCases()},
		{Name: "races", Cases: raceCases()},
	}, each, newEnv)
}
