// Package explain says why runs are in their states: what holds them, what they wait for, and how they ended.
package explain

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Explainer explains the states of runs.
type Explainer struct {
	Runs Runs
	// Binder reads what a held run would execute now.
	Binder *binding.Binder
	// Teams may be nil where there are none, Slots and Waits where no run waits for slots or windows, and Workers where it
	// is not known which executors there are.
	Teams   identity.TeamStore
	Slots   Slots
	Waits   runs.WaitStore
	Workers Workers
	// Gate and Clock are needed with Slots and Waits.
	Gate  Gate
	Clock clock.Clock
}

// Runs reads records, as runs.Store does.
type Runs interface {
	ByID(ctx context.Context, id string) (*runs.Run, error)
	Children(ctx context.Context, parentID string) ([]*runs.Run, error)
	Counts(ctx context.Context) ([]runs.Count, error)
}
