package compose

import (
	"context"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	portestate "github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// TestDriftIsPlanned publishes new drift to the outbox of a server, whose bus carries it to the context of
// notifications.
func TestDriftIsPlanned(t *testing.T) {
	t.Parallel()
	var planned []notify.Delivery
	var failed error
	publish := func(life fx.Lifecycle, u tx.Unit, p events.Publisher, store runs.Store, s notify.Store) {
		life.Append(fx.StartHook(func(ctx context.Context) {
			r := &runs.Run{ID: "run_1", Kind: runs.Single, Status: runs.Succeeded, Actor: actor.Actor{Type: actor.System},
				Spec: runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue, Notifications: []runs.Notification{
					{Kind: "email", To: "a@example.org", OnFailure: true}}},
				CreatedAt: time.Unix(0, 0).UTC(), Objects: []string{access.Queue(runs.DefaultQueue)}}
			failed = u.Do(ctx, func(ctx context.Context) error {
				if err := store.Insert(ctx, r); err != nil {
					return err
				}
				return p.Publish(ctx, portestate.DriftFound{RunID: r.ID, TargetID: "t", New: 1, Hosts: []string{"a"}})
			})
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			look := time.NewTicker(5 * time.Millisecond)
			defer look.Stop()
			for failed == nil && len(planned) == 0 {
				select {
				case <-look.C:
					planned, _, failed = s.ListDeliveries(ctx, r.ID, page.Window{})
				case <-ctx.Done():
					failed = ctx.Err()
				}
			}
		}))
	}
	if err := assembled(t, publish); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if len(planned) != 1 || planned[0].Event != notify.DriftFound || planned[0].Status != notify.Skipped ||
		planned[0].Cause == "" || planned[0].Drift.New != 1 {
		t.Errorf("%+v", planned)
	}
}
