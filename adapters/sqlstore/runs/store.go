package runs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// Store implements the stores of ports/runs. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
	codec   *pack.Codec
	ended   *endedRuns
	scopes  *scopes.Scopes
	models  *models
	gated   *sync.Map // the queues whose last claimed run needed slots
	slot    int       // of the counters
	cap     int       // the maximum of totals
}

var (
	_ runs.Store        = (*Store)(nil)
	_ runs.ObjectStore  = (*Store)(nil)
	_ runs.Queue        = (*Store)(nil)
	_ runs.LogStore     = (*Store)(nil)
	_ runs.EventStore   = (*Store)(nil)
	_ runs.SummaryStore = (*Store)(nil)
	_ runs.KeyStore     = (*Store)(nil)
	_ runs.TicketStore  = (*Store)(nil)
	_ runs.Purger       = (*Store)(nil)
	_ runs.SlotStore    = (*Store)(nil)
	_ runs.WaitStore    = (*Store)(nil)
	_ runs.FactQueue    = (*Store)(nil)
	_ runs.PlanStore    = (*Store)(nil)

	_ estate.ChangeStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store {
	return &Store{d: d, dialect: d.Dialect(), codec: pack.New(), ended: newEnded(), scopes: scopes.New(),
		models: newModels(d), gated: &sync.Map{}, slot: rand.IntN(countSlots), cap: runs.TotalCap}
}

// CountUpTo returns the store with n instead of runs.TotalCap as the cap, so that tests reach it with few runs.
func (s *Store) CountUpTo(n int) *Store {
	c := *s
	c.cap = n
	return &c
}

func notFound(id string) error { return runs.RunNotFound.New("no run %q", id) }

func (s *Store) ByID(ctx context.Context, id string) (*runs.Run, error) {
	return s.whole(ctx, s.d.Read(ctx), id)
}

// Lock locks the row before it reads the rest, so that nothing that it reads is older than the lock.
func (s *Store) Lock(ctx context.Context, id string) (*runs.Run, error) {
	q := s.d.InUnit(ctx)
	if _, err := s.seqOf(ctx, q, id, s.dialect.ForUpdate()); err != nil {
		return nil, err
	}
	return s.whole(ctx, q, id)
}

func (s *Store) whole(ctx context.Context, q bun.IDB, id string) (*runs.Run, error) {
	found, err := s.query(ctx, q, withDocuments, s.models.wholeRun+" WHERE r.id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	if len(found) == 0 {
		return nil, notFound(id)
	}
	return found[0], nil
}

func (s *Store) Children(ctx context.Context, parentID string) ([]*runs.Run, error) {
	found, err := s.query(ctx, s.d.Read(ctx), withDocuments,
		s.models.runNoVars+" WHERE r.parent_id = ? ORDER BY r.shard_index, r.seq", parentID)
	return found, db.Wrap(err, "read the children of run %s", parentID)
}

// seqOf returns a run's seq. It locks the row if lock is the clause for it.
func (s *Store) seqOf(ctx context.Context, q bun.IDB, id, lock string) (int64, error) {
	seq, ok, err := db.QueryRow[int64](ctx, q, "SELECT seq FROM runs WHERE id = ?"+lock, id)
	if err != nil {
		return 0, fmt.Errorf("find run %s: %w", id, err)
	}
	if !ok {
		return 0, notFound(id)
	}
	return seq, nil
}

// query runs a query whose rows begin with the columns of a run, and completes the records with their objects. Runs
// are read often, so that their queries are raw and stay prepared.
func (s *Store) query(ctx context.Context, q bun.IDB, documents bool, query string, args ...any) ([]*runs.Run, error) {
	found, of, err := s.scan(ctx, q, documents, query, args...)
	if err != nil {
		return nil, err
	}
	for i, r := range found {
		if r.Objects, err = s.objectsOf(ctx, q, of[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// scan is query without the objects: it returns each run's scope instead.
func (s *Store) scan(
	ctx context.Context, q bun.IDB, documents bool, query string, args ...any,
) ([]*runs.Run, []number, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, db.Translate(err)
	}
	found, of, err := s.models.scanRuns(rows, documents)
	return found, of, db.Translate(errors.Join(err, rows.Close()))
}
