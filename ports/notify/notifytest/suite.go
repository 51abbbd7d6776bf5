package notifytest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit       tx.Unit
	Deliveries notify.Store
	Targets    notify.TargetStore
	// Sealed is the table with the sealed targets.
	Sealed secrets.SealedStore
	// Runs stores runs with these ids.
	Runs func(ctx context.Context, ids ...string) error
	// Forget deletes every run, like retention.
	Forget func(ctx context.Context) error
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
		{"records", recordCases()},
		{"taking", takeCases()},
		{"targets", targetCases()},
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
