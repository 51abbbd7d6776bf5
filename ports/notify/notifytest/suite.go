package notifytest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
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

func newEnv(s Stores) *env { return &env{Stores: s} }

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "records", Cases: recordCases()},
		{Name: "taking", Cases: takeCases()},
		{Name: "targets", Cases: targetCases()},
		{Name: "races", Cases: raceCases()},
	}, each, newEnv)
}
