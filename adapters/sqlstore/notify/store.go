package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
)

// insertedAtOnce bounds the rows of one statement.
const insertedAtOnce = 50

// Store implements the stores of ports/notify. It is safe for concurrent use.
type Store struct {
	d   *db.DB
	say db.Dialect
}

var (
	_ notify.Store       = (*Store)(nil)
	_ notify.TargetStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, say: d.Dialect()} }

// together runs fn in the unit of ctx, or in one of its own.
func (s *Store) together(ctx context.Context, fn func(ctx context.Context, q bun.IDB) error) error {
	return s.d.Do(ctx, func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, q)
	})
}

func instant(r db.Row) (time.Time, error) {
	var at db.Time
	err := r.Scan(&at)
	return at.Time, err
}

// at is a time of the dialect as a value.
func at(ctx context.Context, q bun.IDB, t db.LeaseTime) (time.Time, error) {
	now, _, err := db.One(ctx, q, instant, "SELECT ? AS at", t)
	return now, err
}

func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

const columns = "id, run_id, event, origin, position, kind, target, digest, status, reason, attempts, created_at, ended_at"

func scan(r db.Row) (d notify.Delivery, err error) {
	var target string
	var created, ended db.Time
	err = r.Scan(&d.ID, &d.RunID, &d.Event, &d.Origin, &d.Position, &d.Kind, &target, &d.Digest, &d.Status, &d.Reason, &d.Attempts, &created, &ended)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal([]byte(target), &d.Target); err != nil {
		return d, fmt.Errorf("read the target of delivery %s: %w", d.ID, err)
	}
	d.CreatedAt, d.EndedAt = created.Time, ended.Time
	return d, nil
}

// InsertDeliveries implements notify.Store. Those that are not pending have ended as soon as they are stored.
func (s *Store) InsertDeliveries(ctx context.Context, list []notify.Delivery) (fresh int, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		fresh = 0
		there, err := s.hold(ctx, q, list)
		if err != nil {
			return err
		}
		now, err := at(ctx, q, s.say.WallNow())
		if err != nil {
			return err
		}
		for part := range slices.Chunk(there, insertedAtOnce) {
			n, err := s.insert(ctx, q, part, db.At(now))
			if err != nil {
				return err
			}
			fresh += n
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store deliveries: %w", err)
	}
	return fresh, nil
}

// hold returns the deliveries whose run exists, and keeps the runs until the unit ends.
func (s *Store) hold(ctx context.Context, q bun.IDB, list []notify.Delivery) ([]notify.Delivery, error) {
	ids := make([]string, 0, len(list))
	for _, d := range list {
		ids = append(ids, d.RunID)
	}
	slices.Sort(ids)
	there := map[string]bool{}
	for _, id := range slices.Compact(ids) {
		_, ok, err := db.One(ctx, q, func(r db.Row) (id string, err error) { return id, r.Scan(&id) },
			"SELECT id FROM runs WHERE id = ?"+s.say.ForShare(), id)
		if err != nil {
			return nil, err
		}
		there[id] = ok
	}
	var out []notify.Delivery
	for _, d := range list {
		if there[d.RunID] {
			out = append(out, d)
		}
	}
	return out, nil
}

func (s *Store) insert(ctx context.Context, q bun.IDB, part []notify.Delivery, now db.Time) (int, error) {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	var args []any
	for _, d := range part {
		target, err := json.Marshal(d.Target)
		if err != nil {
			return 0, fmt.Errorf("write the target of delivery %s: %w", d.ID, err)
		}
		ended := now
		if d.Status == notify.Pending {
			ended = db.Time{}
		}
		args = append(args, d.ID, d.RunID, string(d.Event), string(d.Origin), d.Position, d.Kind, string(target), d.Digest, d.Lane(), string(d.Status),
			d.Reason, d.Attempts, s.say.LeaseNow(), now, ended)
	}
	n, err := db.Exec(ctx, q, "INSERT INTO notify_deliveries (id, run_id, event, origin, position, kind, target, digest, lane, status, reason, "+
		"attempts, due_at, created_at, ended_at) VALUES "+row+strings.Repeat(", "+row, len(part)-1)+
		" ON CONFLICT (run_id, event, origin, position) DO NOTHING", args...)
	return int(n), err
}

// ListDeliveries implements notify.Store. They come oldest first, those of one moment by id.
func (s *Store) ListDeliveries(ctx context.Context, runID string, w page.Window) ([]notify.Delivery, int, error) {
	q := s.d.Read(ctx)
	total, err := db.Count(ctx, q, "SELECT count(*) FROM notify_deliveries WHERE run_id = ?", runID)
	if err != nil {
		return nil, 0, fmt.Errorf("count deliveries: %w", err)
	}
	list, err := db.All(ctx, q, scan, "SELECT "+columns+" FROM notify_deliveries WHERE run_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?",
		runID, w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("read deliveries: %w", err)
	}
	return list, total, nil
}

// EndDelivery implements notify.Store.
func (s *Store) EndDelivery(ctx context.Context, id string, status notify.Status, reason string) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		_, err := db.Exec(ctx, q, "UPDATE notify_deliveries SET status = ?, reason = ?, ended_at = ? WHERE id = ? AND status = 'pending'",
			string(status), reason, s.say.WallNow(), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("end a delivery: %w", err)
	}
	return nil
}

// DeferDelivery implements notify.Store. One that is gone or has ended is no error.
func (s *Store) DeferDelivery(ctx context.Context, id, reason string, after time.Duration) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		_, err := db.Exec(ctx, q, "UPDATE notify_deliveries SET reason = ?, due_at = ? WHERE id = ? AND status = 'pending'",
			reason, s.say.LeaseNow().Add(after), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("defer a delivery: %w", err)
	}
	return nil
}
