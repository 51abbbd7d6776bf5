package secrets

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// needed is how long an owner other than a run may need its minted secrets.
const needed = time.Hour

type lease struct {
	bun.BaseModel `bun:"table:secret_leases,alias:l"`
	leaseColumns
	OwnerID string
	Epoch   int64
	OfRun   bool
	DueAt   time.Time
}

// leaseColumns is a secrets.Lease with the names of its columns.
type leaseColumns struct {
	ID           string        `bun:",pk"`
	Owner        secrets.Owner `bun:"-"`
	CredentialID string
	Engine       string
	Sealed       []byte
	CreatedAt    time.Time
	Attempts     int
}

func leases(rows []lease) []secrets.Lease {
	var out []secrets.Lease
	for _, r := range rows {
		l := secrets.Lease(r.leaseColumns)
		l.Owner = secrets.Owner{ID: r.OwnerID, Epoch: r.Epoch}
		out = append(out, l)
	}
	return out
}

// InsertLease sets the times by the store's clock. An existing id is a Conflict fault.
func (s *Store) InsertLease(ctx context.Context, l secrets.Lease) error {
	row := lease{leaseColumns: leaseColumns(l), OwnerID: l.Owner.ID, Epoch: l.Owner.Epoch}
	row.Sealed = append([]byte{}, l.Sealed...)
	due := s.dialect.LeaseNow()
	if row.OfRun = strings.HasPrefix(l.Owner.ID, string(ids.Run)); !row.OfRun {
		due = due.Add(needed)
	}
	err := s.d.Do(ctx, func(ctx context.Context) error {
		_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).
			Value("created_at", "?", s.dialect.LeaseNow()).Value("due_at", "?", due).Returning("NULL"))
		return err
	})
	return db.Wrap(err, "store a lease")
}

// LeasesOf sorts them by id.
func (s *Store) LeasesOf(ctx context.Context, o secrets.Owner) ([]secrets.Lease, error) {
	var rows []lease
	err := s.d.Read(ctx).NewSelect().Model(&rows).Where("l.owner_id = ? AND l.epoch = ?", o.ID, o.Epoch).
		OrderExpr("l.id").Scan(ctx)
	return leases(rows), db.Wrap(err, "read the leases of an owner")
}

// TakeLeases returns the leases that were due first, and counts an attempt of each, which the result includes. It
// skips leases that another unit has locked.
func (s *Store) TakeLeases(ctx context.Context, limit int, hold time.Duration) (taken []secrets.Lease, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) error {
		q, now := s.d.InUnit(ctx), db.Time{}
		// The time is read first and then compared as a value, so that the query uses an index.
		if err := q.NewSelect().ColumnExpr("? AS now", s.dialect.LeaseNow()).Scan(ctx, &now); err != nil {
			return err
		}
		live := slices.DeleteFunc(runs.Statuses(), runs.Status.Terminal)
		owners := q.NewSelect().TableExpr("runs AS r").ColumnExpr("1").
			Where("r.id = l.owner_id AND r.epoch = l.epoch AND r.status IN (?)", bun.In(live))
		var rows []lease
		err := q.NewSelect().Model(&rows).Where("l.due_at <= ? AND NOT (l.of_run AND EXISTS (?))", now, owners).
			OrderExpr("l.due_at, l.id").
			Apply(db.AtMost(limit), s.dialect.LockSkip).Scan(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		due := make([]string, len(rows))
		for i := range rows {
			rows[i].Attempts++
			due[i] = rows[i].ID
		}
		taken = leases(rows)
		_, err = q.NewUpdate().Model((*lease)(nil)).
			Set("due_at = ?, attempts = attempts + 1", s.dialect.LeaseNow().Add(hold)).
			Where("l.id IN (?)", bun.In(due)).Exec(ctx)
		return err
	})
	return taken, db.Wrap(err, "take leases")
}

func (s *Store) DropLease(ctx context.Context, id string) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		_, err := s.d.InUnit(ctx).NewDelete().Model((*lease)(nil)).Where("l.id = ?", id).Exec(ctx)
		return err
	})
	return db.Wrap(err, "delete a lease")
}
