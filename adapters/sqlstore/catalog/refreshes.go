package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

var (
	_ catalog.RefreshStore = (*Store)(nil)
	_ catalog.RefreshQueue = (*Store)(nil)
)

// The states of a refresh. A missed one is over since nobody held it.
const (
	waiting = "waiting"
	held    = "held"
	done    = "done"
	over    = "over"
	missed  = "missed"
)

type refresh struct {
	bun.BaseModel `bun:"table:source_refreshes,alias:f"`
	SourceID      string `bun:",pk"`
	Round         int64
	Revision      int64
	Queue         string
	State         string
	AskedAt       time.Time // times are by the clock of the leases
	Worker        string
	Epoch         int64
	ExpiresAt     time.Time `bun:",nullzero"`
	DoneAt        time.Time `bun:",nullzero"`
	Hash          []byte    `bun:",nullzero"`
	Sealed        []byte    `bun:",nullzero"`
	Failure       string
	Format        catalog.Format
	Content       []byte `bun:",nullzero"`
	Fresh         bool   `bun:",scanonly"` // the lease is valid
}

func (r *refresh) lease() catalog.RefreshLease {
	return catalog.RefreshLease{SourceID: r.SourceID, Epoch: r.Epoch, Worker: r.Worker}
}

func (s *Store) AskRefresh(ctx context.Context, sourceID string, revision int64, queue string) (int64, error) {
	q, now := s.d.InUnit(ctx), s.dialect.LeaseNow()
	row := refresh{SourceID: sourceID, Round: 1, Revision: revision, Queue: queue, State: waiting}
	_, err := db.Modify(ctx, q.NewInsert().Model(&row).Value("asked_at", "?", now).
		On("CONFLICT (source_id) DO UPDATE").Set("round = f.round + 1").Set("revision = EXCLUDED.revision").
		Set("queue = EXCLUDED.queue").Set("state = EXCLUDED.state").Set("asked_at = EXCLUDED.asked_at").
		Set("worker = ''").Set("expires_at = NULL").Set("hash = NULL").Set("sealed = NULL").Set("content = NULL").
		Where("f.state IN (?, ?) OR f.revision <> EXCLUDED.revision OR f.asked_at <= ? OR f.state = ? AND f.done_at <= ?",
			over, missed, now.Add(-catalog.RefreshLife), done, now.Add(-catalog.RefreshKept)).Returning("NULL"))
	if err == nil {
		_, err = db.First(ctx, q.NewSelect().Model(&row).Column("round").WherePK())
	}
	return row.Round, db.Wrap(err, "ask for the refresh of a source")
}

func (s *Store) RefreshState(ctx context.Context, sourceID string, round int64) (catalog.RefreshState, error) {
	row := refresh{}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).
		ColumnExpr("f.state, f.failure, f.format, f.content, f.expires_at > ? AS fresh", s.dialect.LeaseNow()).
		Where("f.source_id = ? AND f.round = ?", sourceID, round))
	if err != nil || !ok || row.State == over || row.State == missed {
		return catalog.RefreshState{Over: true, Missed: row.State == missed}, db.Wrap(err, "read the state of a refresh")
	}
	return catalog.RefreshState{
		Held: row.State == held && row.Fresh, Done: row.State == done,
		Result: catalog.RefreshResult{Content: row.Content, Format: row.Format, Failure: row.Failure},
	}, nil
}

func (s *Store) EndRefresh(ctx context.Context, sourceID string, round int64, isDone bool) (bool, error) {
	state := missed
	if isDone {
		state = over
	}
	q := cleared(s.d.InUnit(ctx), state).Set("content = NULL").Where("source_id = ? AND round = ?", sourceID, round)
	if isDone {
		q.Where("state = ?", done)
	} else {
		q.Where("state = ? OR state = ? AND expires_at <= ?", waiting, held, s.dialect.LeaseNow())
	}
	n, err := db.Modify(ctx, q)
	return n == 1, db.Wrap(err, "end the refresh of a source")
}

// cleared begins the change of a refresh to a state in which nobody holds it.
func cleared(q bun.IDB, state string) *bun.UpdateQuery {
	return q.NewUpdate().Model((*refresh)(nil)).Set("state = ?", state).Set("hash = NULL").Set("sealed = NULL").
		Set("expires_at = NULL")
}

func (s *Store) ClaimRefresh(
	ctx context.Context, c catalog.RefreshClaim,
) (r catalog.ClaimedRefresh, ok bool, err error) {
	if len(c.Queues) == 0 {
		return r, false, nil
	}
	q, now, row := s.d.InUnit(ctx), s.dialect.LeaseNow(), refresh{}
	ok, err = db.First(ctx, q.NewSelect().Model(&row).
		Column("source_id", "revision", "epoch").Where("f.queue IN (?)", bun.In(c.Queues)).
		Where("f.asked_at > ?", now.Add(-catalog.RefreshLife)).
		Where("f.state = ? OR f.state = ? AND f.expires_at <= ?", waiting, held, now).
		OrderExpr("f.asked_at, f.source_id").Limit(1).Apply(s.dialect.LockSkip))
	if err != nil || !ok {
		return r, false, db.Wrap(err, "look for a refresh")
	}
	row.Epoch++
	row.Worker = c.Worker
	_, err = db.Modify(ctx, q.NewUpdate().Model(&row).Set("state = ?, worker = ?, epoch = ?, hash = ?", held, c.Worker,
		row.Epoch, c.Hash).Set("sealed = NULL, expires_at = ?", now.Add(c.TTL)).WherePK())
	return catalog.ClaimedRefresh{RefreshLease: row.lease(), Revision: row.Revision}, err == nil,
		db.Wrap(err, "claim the refresh of a source")
}

// change changes the refresh of a lease, and returns LeaseLost if the lease is over.
func (s *Store) change(ctx context.Context, l catalog.RefreshLease, q *bun.UpdateQuery) error {
	n, err := db.Modify(ctx, q.Where("source_id = ? AND epoch = ? AND worker = ? AND state = ?", l.SourceID, l.Epoch,
		l.Worker, held))
	switch {
	case err != nil:
		return fmt.Errorf("change the refresh of a source: %w", err)
	case n == 0:
		return runs.LeaseLost.New("the lease on the refresh of %s is over", l.SourceID)
	}
	return nil
}

// A lease that has expired is renewed as long as nobody else has taken the refresh.
func (s *Store) RenewRefresh(ctx context.Context, l catalog.RefreshLease, ttl time.Duration) error {
	return s.change(ctx, l, s.d.InUnit(ctx).NewUpdate().Model((*refresh)(nil)).
		Set("expires_at = ?", s.dialect.LeaseNow().Add(ttl)))
}

func (s *Store) ReleaseRefresh(ctx context.Context, l catalog.RefreshLease) error {
	err := s.change(ctx, l, cleared(s.d.InUnit(ctx), waiting))
	if runs.LeaseLost.Is(err) {
		return nil
	}
	return err
}

func (s *Store) ReportRefresh(ctx context.Context, l catalog.RefreshLease, r catalog.RefreshResult) error {
	return s.change(ctx, l, cleared(s.d.InUnit(ctx), done).Set("done_at = ?", s.dialect.LeaseNow()).
		Set("failure = ?, format = ?, content = ?", r.Failure, r.Format, r.Content))
}

func (s *Store) KeepRefreshSecrets(ctx context.Context, l catalog.RefreshLease, sealed []byte) error {
	return s.change(ctx, l, s.d.InUnit(ctx).NewUpdate().Model((*refresh)(nil)).Set("sealed = ?", sealed))
}

func (s *Store) RefreshOf(ctx context.Context, hash []byte) (catalog.RefreshLease, []byte, bool, error) {
	row := refresh{}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Column("source_id", "epoch", "worker", "sealed").
		Where("f.hash = ? AND f.state = ?", hash, held))
	return row.lease(), row.Sealed, ok, db.Wrap(err, "look for the claim of a refresh")
}
