package execution_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	portexecution "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets/secretstest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	executiontest.RunWorkers(t, func(t *testing.T, fn func(*testing.T, executiontest.WorkerStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.WorkerStores{Unit: d, Store: execution.New(d)})
		})
	})
}

func TestClaims(t *testing.T) {
	t.Parallel()
	executiontest.RunClaims(t, func(t *testing.T, fn func(*testing.T, executiontest.ClaimStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.ClaimStores{Unit: d, Store: execution.New(d), Runs: made(d), Forget: forget(d)})
		})
	})
}

func TestWorkerTokens(t *testing.T) {
	t.Parallel()
	executiontest.RunWorkerTokens(t, func(t *testing.T, fn func(*testing.T, executiontest.TokenStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.TokenStores{Unit: d, Store: execution.New(d)})
		})
	})
}

func TestClaimSecrets(t *testing.T) {
	t.Parallel()
	executiontest.RunClaimSecrets(t, func(t *testing.T, fn func(*testing.T, executiontest.SecretStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.SecretStores{
				Unit: d, Store: execution.New(d), Running: leased(d, runs.Running), Ended: leased(d, runs.Failed),
				Forget: forget(d),
			})
		})
	})
}

func TestSealedStores(t *testing.T) {
	t.Parallel()
	secretstest.RunSealedStore(t, func(t *testing.T, fn func(*testing.T, secretstest.SealedStoreUnderTest)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s, running, n := execution.New(d), leased(d, runs.Running), 0
			claim := func(key string) runs.Lease { return runs.Lease{RunID: key, Worker: "relay/a", Epoch: 3} }
			fn(t, secretstest.SealedStoreUnderTest{
				Unit: d, Store: s.SealedStores()[0], Name: "secrets of relay claims",
				Put: func(ctx context.Context, text []byte) (string, error) {
					n++
					l := claim(fmt.Sprintf("run_%026d", n))
					return l.RunID, errors.Join(running(ctx, l), s.PutSecrets(ctx, l, text))
				},
				Record: func(key string) string { return portexecution.SecretsRecord(key, 3) },
				State: func(ctx context.Context, key string) (any, error) {
					return s.TailOf(ctx, claim(key))
				},
				Remove: func(ctx context.Context, key string) error { return s.DropSecrets(ctx, claim(key)) },
			})
		})
	})
}

// leased stores a run in a state under the epoch of a lease.
func leased(d *db.DB, status runs.Status) func(context.Context, runs.Lease) error {
	store := sqlruns.New(d)
	return func(ctx context.Context, l runs.Lease) error {
		r := run(l.RunID)
		r.Status, r.Epoch, r.Worker = status, l.Epoch, l.Worker
		return d.Do(ctx, func(ctx context.Context) error { return store.Insert(ctx, r) })
	}
}

// run returns a run that was canceled before it began.
func run(id string) *runs.Run {
	return &runs.Run{
		ID: id, Kind: runs.Single, Status: runs.Canceled,
		Spec:  runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
		Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"}, CreatedAt: start, EndedAt: start,
		Objects: []string{access.Queue(runs.DefaultQueue)},
	}
}

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// made stores runs that were canceled before they began: retention takes them at once.
func made(d *db.DB) func(context.Context, ...string) error {
	store := sqlruns.New(d)
	return func(ctx context.Context, ids ...string) error {
		return d.Do(ctx, func(ctx context.Context) error {
			for _, id := range ids {
				if err := store.Insert(ctx, run(id)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func forget(d *db.DB) func(context.Context) error {
	store := sqlruns.New(d)
	return func(ctx context.Context) error {
		return d.Do(ctx, func(ctx context.Context) error {
			_, err := store.PurgeRuns(ctx, start.Add(time.Hour), 1000)
			return err
		})
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	executiontest.RunQueues(t, func(t *testing.T, fn func(*testing.T, executiontest.QueueStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.QueueStores{Unit: d, Store: execution.New(d)})
		})
	})
}
