package notify

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// rowsPerInsert bounds the rows of one statement.
const rowsPerInsert = 50

// Store implements the stores of ports/notify. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
}

var (
	_ notify.Store       = (*Store)(nil)
	_ notify.TargetStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, dialect: d.Dialect()} }

type delivery struct {
	bun.BaseModel `bun:"table:notify_deliveries,alias:d"`
	deliveryColumns
	Lane  string
	DueAt db.LeaseTime // only written
}

// deliveryColumns is a notify.Delivery with the names of its columns.
type deliveryColumns struct {
	ID        string `bun:",pk"`
	RunID     string
	Event     notify.Event
	Cause     string
	Drift     *estate.DriftFound
	Origin    notify.Origin
	Position  int
	Kind      string
	Target    runs.Notification
	Digest    string
	Status    notify.Status
	Reason    string
	Attempts  int
	CreatedAt time.Time
	EndedAt   time.Time `bun:",nullzero"`
}

func deliveries(rows []delivery) []notify.Delivery {
	return db.Convert(rows, func(r delivery) notify.Delivery { return notify.Delivery(r.deliveryColumns) })
}

// value reads a time of the dialect.
func value(ctx context.Context, q bun.IDB, t db.LeaseTime) (now db.Time, err error) {
	return now, q.NewSelect().ColumnExpr("? AS now", t).Scan(ctx, &now)
}

// InsertDeliveries stores deliveries that are not pending as ended.
func (s *Store) InsertDeliveries(ctx context.Context, list []notify.Delivery) (fresh int, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	err = s.d.Do(ctx, func(ctx context.Context) error {
		fresh = 0
		q := s.d.InUnit(ctx)
		present, err := s.lockRuns(ctx, q, list)
		if err != nil {
			return err
		}
		now, err := value(ctx, q, s.dialect.WallNow())
		if err != nil {
			return err
		}
		var rows []delivery
		for _, d := range list {
			if !present[d.RunID] {
				continue
			}
			d.CreatedAt, d.EndedAt = now.Time, now.Time
			if d.Status == notify.Pending {
				d.EndedAt = time.Time{}
			}
			rows = append(rows, delivery{deliveryColumns: deliveryColumns(d), Lane: d.Lane(), DueAt: s.dialect.LeaseNow()})
		}
		for part := range slices.Chunk(rows, rowsPerInsert) {
			n, err := db.Modify(ctx, q.NewInsert().Model(&part).
				On("CONFLICT (run_id, event, cause, origin, position) DO NOTHING").Returning("NULL"))
			if err != nil {
				return err
			}
			fresh += int(n)
		}
		return nil
	})
	return fresh, db.Wrap(err, "store deliveries")
}

// lockRuns returns which runs of the deliveries exist, and locks them until the unit ends.
func (s *Store) lockRuns(ctx context.Context, q bun.IDB, list []notify.Delivery) (map[string]bool, error) {
	var ids []string
	for _, d := range list {
		ids = append(ids, d.RunID)
	}
	slices.Sort(ids)
	present := map[string]bool{}
	for _, id := range slices.Compact(ids) {
		var there string
		ok, err := db.First(ctx, q.NewSelect().Table("runs").Column("id").Where("id = ?", id).
			Apply(s.dialect.LockShare), &there)
		if err != nil {
			return nil, err
		}
		present[id] = ok
	}
	return present, nil
}

// ListDeliveries sorts them by time, the oldest first, and then by id.
func (s *Store) ListDeliveries(ctx context.Context, runID string, w page.Window) ([]notify.Delivery, int, error) {
	var rows []delivery
	q := s.d.Read(ctx).NewSelect().Model(&rows).ExcludeColumn("due_at").Where("d.run_id = ?", runID)
	total, err := db.Total(ctx, q)
	if err == nil {
		err = q.OrderExpr("d.created_at, d.id").Apply(db.Window(w)).Scan(ctx)
	}
	return deliveries(rows), total, db.Wrap(err, "read deliveries")
}

func (s *Store) EndDelivery(ctx context.Context, id string, status notify.Status, reason string) error {
	return s.change(ctx, id, "status = ?, reason = ?, ended_at = ?", status, reason, s.dialect.WallNow())
}

// DeferDelivery ignores a delivery that was deleted or has ended.
func (s *Store) DeferDelivery(ctx context.Context, id, reason string, after time.Duration) error {
	return s.change(ctx, id, "reason = ?, due_at = ?", reason, s.dialect.LeaseNow().Add(after))
}

// change changes a pending delivery.
func (s *Store) change(ctx context.Context, id, set string, args ...any) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		_, err := s.d.InUnit(ctx).NewUpdate().Model((*delivery)(nil)).Set(set, args...).
			Where("d.id = ? AND d.status = 'pending'", id).Exec(ctx)
		return err
	})
	return db.Wrap(err, "change a delivery")
}
