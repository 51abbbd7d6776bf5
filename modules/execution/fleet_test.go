package execution_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

type workers struct{ list []execution.Worker }

func (w workers) ReportWorker(context.Context, execution.Worker) error { return nil }
func (w workers) TouchWorker(context.Context, string, int) error       { return nil }
func (w workers) RemoveWorker(context.Context, string) error           { return nil }
func (w workers) ForgetWorkers(context.Context, time.Duration) error   { return nil }
func (w workers) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return w.list, len(w.list), nil
}

// guard hides one object, or cannot decide.
type guard struct {
	hidden string
	err    error
}

func (g guard) May(_ context.Context, _ access.Level, objects ...string) (bool, error) {
	return !slices.Contains(objects, g.hidden), g.err
}
func (g guard) Scope(context.Context) (access.Scope, error) { return access.Scope{}, g.err }

// TestFleetHidesQueues checks that only queues that the caller may read are listed, and none if the decision fails.
func TestFleetHidesQueues(t *testing.T) {
	t.Parallel()
	store := workers{list: []execution.Worker{{Name: "a", Queues: []string{"default", "vault"}},
		{Name: "b", Queues: []string{"vault"}}}}
	list, total, err := module.NewFleet(store, guard{hidden: "queue:vault"}).Workers(t.Context(), page.Window{})
	if err != nil || total != 2 || !slices.Equal(list[0].Queues, []string{"default"}) || list[1].Queues == nil ||
		len(list[1].Queues) != 0 {
		t.Errorf("%+v of %d, %v", list, total, err)
	}
	store = workers{list: []execution.Worker{{Name: "a", Queues: []string{"default"}}}}
	gone := errors.New("gone")
	if _, _, err := module.NewFleet(store, guard{err: gone}).Workers(t.Context(), page.Window{}); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}
