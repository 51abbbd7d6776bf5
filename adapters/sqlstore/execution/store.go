// Package execution stores the reports of executors, and the capabilities of claims over a relay.
package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Store implements the stores of ports/execution. It is safe for concurrent use.
type Store struct{ d *db.DB }

var (
	_ execution.WorkerStore = (*Store)(nil)
	_ execution.ClaimStore  = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d} }

type worker struct {
	bun.BaseModel `bun:"table:workers,alias:w"`
	workerColumns
}

// workerColumns is an execution.Worker with the names of its columns.
type workerColumns struct {
	Name      string `bun:",pk"`
	Kind      execution.WorkerKind
	Queues    []string
	Executors int
	Running   int
	Version   string
	Labels    map[string]string
	Isolation execution.WorkerIsolation
	SeenAt    time.Time // by the clock of the leases
	Fresh     bool      `bun:",scanonly"`
}

type relayClaim struct {
	bun.BaseModel `bun:"table:relay_claims,alias:c"`
	leaseColumns
	Hash      []byte
	ClaimedAt time.Time // by the clock of the leases
}

// leaseColumns is a runs.Lease with the names of its columns.
type leaseColumns struct {
	RunID  string `bun:",pk"`
	Worker string
	Epoch  int64
}

// Reports get the time of the leases' clock.
func (s *Store) ReportWorker(ctx context.Context, w execution.Worker) error {
	row := worker{workerColumns: workerColumns(w)}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).Value("seen_at", "?", s.d.Dialect().LeaseNow()).
		On("CONFLICT (name) DO UPDATE").Returning("NULL"))
	return err
}

func (s *Store) TouchWorker(ctx context.Context, name string, running int) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model((*worker)(nil)).
		Set("running = ?, seen_at = ?", running, s.d.Dialect().LeaseNow()).Where("w.name = ?", name))
	return err
}

func (s *Store) RemoveWorker(ctx context.Context, name string) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewDelete().Model((*worker)(nil)).Where("w.name = ?", name))
	return err
}

func (s *Store) ForgetWorkers(ctx context.Context, since time.Duration) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewDelete().Model((*worker)(nil)).
		Where("w.seen_at < ?", s.d.Dialect().LeaseNow().Add(-since)))
	return err
}

func (s *Store) Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error) {
	q, rows := s.d.Read(ctx), []worker(nil)
	total, err := db.Total(ctx, q.NewSelect().Model((*worker)(nil)))
	if err == nil {
		err = q.NewSelect().Model(&rows).ColumnExpr("w.*, w.seen_at > ? AS fresh",
			s.d.Dialect().LeaseNow().Add(-execution.WorkerTTL)).
			OrderExpr("w.name").Apply(db.Window(w)).Scan(ctx)
	}
	if err != nil {
		return nil, 0, db.Wrap(err, "list workers")
	}
	out := db.Convert(rows, func(r worker) execution.Worker { return execution.Worker(r.workerColumns) })
	return out, total, nil
}

func (s *Store) PutClaim(ctx context.Context, hash [32]byte, l runs.Lease) error {
	row := relayClaim{leaseColumns: leaseColumns(l), Hash: hash[:]}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).Value("claimed_at", "?", s.d.Dialect().LeaseNow()).
		On("CONFLICT (run_id) DO UPDATE").Returning("NULL"))
	return db.Wrap(err, "store the claim of run %s", l.RunID)
}

func (s *Store) ClaimOf(ctx context.Context, hash [32]byte) (l runs.Lease, ok bool, err error) {
	var row relayClaim
	ok, err = db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("c.hash = ?", hash[:]))
	if err != nil {
		return runs.Lease{}, false, fmt.Errorf("look for a claim: %w", err)
	}
	return runs.Lease(row.leaseColumns), ok, nil
}
