package runs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

// claims collects the runs that claimers got.
type claims struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *claims) add(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[id]++
}

// TestEveryRunIsClaimedOnce lets 64 claimers empty a queue: together they get each run once.
// Keeps F16.
func TestEveryRunIsClaimedOnce(t *testing.T) {
	t.Parallel()
	claimers, n := 64, depthtest.Of(500, 10_000)
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := sqlruns.New(d)
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		fill(t, d, s, now, n)
		got := &claims{times: make(map[string]int, n)}
		var wg sync.WaitGroup
		for i := range claimers {
			wg.Go(func() {
				ask := runs.ClaimRequest{Worker: fmt.Sprint("w", i), Queues: []string{runs.DefaultQueue}}
				for {
					var a *runs.Assignment
					err := d.Do(t.Context(), func(ctx context.Context) error {
						got, err := s.Claim(ctx, ask, time.Hour, now)
						a = got.Assignment
						return err
					})
					if err != nil {
						t.Errorf("claim: %v", err)
					}
					if err != nil || a == nil {
						return
					}
					got.add(a.Run.ID)
				}
			})
		}
		wg.Wait()
		if len(got.times) != n {
			t.Errorf("%d of %d runs were claimed", len(got.times), n)
		}
		for id, times := range got.times {
			if times != 1 {
				t.Errorf("%s was claimed %d times", id, times)
			}
		}
	})
}

// perUnit bounds a unit of work, which has a timeout on a busy machine too.
const perUnit = 100

// fill queues runs.
func fill(t *testing.T, d *db.DB, s *sqlruns.Store, now time.Time, n int) {
	t.Helper()
	for from := 0; from < n; from += perUnit {
		err := d.Do(t.Context(), func(ctx context.Context) error {
			for i := from; i < min(from+perUnit, n); i++ {
				err := s.Insert(ctx, &runs.Run{
					ID: fmt.Sprintf("run_%06d", i), Kind: runs.Single, Status: runs.Pending, CreatedAt: now, QueuedAt: now,
					Spec: runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
