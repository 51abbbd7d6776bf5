package scheduling

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/scheduling"
)

type slot struct {
	bun.BaseModel `bun:"table:schedule_slots,alias:s"`
	ScheduleID    string    `bun:",pk"`
	Slot          time.Time `bun:",pk"`
	HeldUntil     time.Time // by the clock of the leases
	RunID, Reason string
	SettledAt     time.Time `bun:",nullzero"`
}

func (s *Store) Due(ctx context.Context, limit int) (due []scheduling.Schedule, now, next time.Time, err error) {
	q := s.d.Read(ctx)
	fail := func(err error) ([]scheduling.Schedule, time.Time, time.Time, error) {
		return nil, time.Time{}, time.Time{}, db.Wrap(err, "look for schedules that are due")
	}
	// The time is read first and then compared as a value, so that the query uses an index.
	var later db.Time
	at, err := s.now(ctx, q)
	if err != nil {
		return fail(err)
	}
	var rows []schedule
	due, err = objects.All(ctx, q.NewSelect().Model(&rows).Where("o.enabled AND o.next_run_at <= ?", at).
		OrderExpr("o.next_run_at, o.id").Apply(db.AtMost(limit)), &rows)
	if err != nil {
		return fail(err)
	}
	if len(due) > 0 {
		return due, at.Time, time.Time{}, nil
	}
	err = q.NewSelect().Model((*schedule)(nil)).ColumnExpr("min(o.next_run_at)").
		Where("o.enabled AND o.next_run_at > ?", at).Scan(ctx, &later)
	if err != nil {
		return fail(err)
	}
	return nil, at.Time, later.Time, nil
}

func (s *Store) Now(ctx context.Context) (time.Time, error) {
	at, err := s.now(ctx, s.d.Read(ctx))
	return at.Time, db.Wrap(err, "read the time of the store")
}

func (s *Store) now(ctx context.Context, q bun.IDB) (at db.Time, err error) {
	return at, q.NewSelect().ColumnExpr("? AS now", s.dialect.WallNow()).Scan(ctx, &at)
}

// move sets the next slot of a schedule if it is still the one that was due.
func move(
	ctx context.Context, q bun.IDB, id string, was, next time.Time, more func(*bun.UpdateQuery) *bun.UpdateQuery,
) (bool, error) {
	n, err := db.Modify(ctx, q.NewUpdate().Model((*schedule)(nil)).Set("next_run_at = ?", db.At(next)).Apply(more).
		Where("o.id = ? AND o.enabled AND o.next_run_at = ?", id, db.At(was)))
	return n > 0, err
}

// If the slot exists already, because a change of the schedule selected it again, the next slot moves on nevertheless;
// otherwise the schedule would stay due forever.
func (s *Store) Advance(
	ctx context.Context, id string, was, next, due time.Time, hold time.Duration,
) (ok bool, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) (err error) {
		q := s.d.InUnit(ctx)
		if ok, err = move(ctx, q, id, was, next, nil); err != nil || !ok || due.IsZero() {
			return err
		}
		row := slot{ScheduleID: id, Slot: due}
		n, err := db.Modify(ctx, q.NewInsert().Model(&row).Value("held_until", "?", s.dialect.LeaseNow().Add(hold)).
			On("CONFLICT DO NOTHING").Returning("NULL"))
		ok = n > 0
		return err
	})
	return ok, db.Wrap(err, "store a slot")
}

func (s *Store) Unsettled(ctx context.Context, id string) (time.Time, error) {
	var oldest db.Time
	err := s.d.Read(ctx).NewSelect().Model((*slot)(nil)).ColumnExpr("min(s.slot)").
		Where("s.schedule_id = ? AND s.settled_at IS NULL", id).Scan(ctx, &oldest)
	return oldest.Time, db.Wrap(err, "look for a slot without a result")
}

func (s *Store) Skip(ctx context.Context, id string, was, next time.Time, reason string) (ok bool, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) (err error) {
		ok, err = move(ctx, s.d.InUnit(ctx), id, was, next, func(q *bun.UpdateQuery) *bun.UpdateQuery {
			return q.
				Set("last_error = ?", reason)
		})
		return err
	})
	return ok, db.Wrap(err, "skip a slot")
}

// The longest abandoned come first. A slot is deleted with its schedule.
func (s *Store) Abandoned(ctx context.Context, hold time.Duration, limit int) (found []scheduling.Firing, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) error {
		found = nil
		q, rows := s.d.InUnit(ctx), []slot(nil)
		err := q.NewSelect().Model(&rows).Where("s.settled_at IS NULL AND s.held_until <= ?", s.dialect.LeaseNow()).
			OrderExpr("s.held_until, s.schedule_id, s.slot").Apply(db.AtMost(limit), s.dialect.LockSkip).Scan(ctx)
		if err != nil {
			return err
		}
		for _, x := range rows {
			if _, err := q.NewUpdate().Model(&x).Set("held_until = ?", s.dialect.LeaseNow().Add(hold)).WherePK().
				Exec(ctx); err != nil {
				return err
			}
			r, err := schedules.ByID(ctx, q, x.ScheduleID)
			if err != nil {
				return err
			}
			found = append(found, scheduling.Firing{Schedule: r, Slot: x.Slot})
		}
		return nil
	})
	return found, db.Wrap(err, "look for abandoned slots")
}

// A recorded run stays, even if another server reports a reason. A missing slot is skipped.
func (s *Store) Settle(ctx context.Context, id string, at time.Time, runID, reason string) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		q := s.d.InUnit(ctx)
		if _, err := schedules.Lock(ctx, s.d, id, 0); err != nil && !scheduling.ScheduleNotFound.Is(err) {
			return err
		}
		n, err := db.Modify(ctx, q.NewUpdate().Model((*slot)(nil)).
			Set("run_id = ?, reason = ?, settled_at = ?", runID, reason, s.dialect.WallNow()).
			Where("s.schedule_id = ? AND s.slot = ? AND s.run_id = ''", id, db.At(at)))
		if err != nil || n == 0 {
			return err
		}
		_, err = db.Modify(ctx, q.NewUpdate().Model((*schedule)(nil)).
			Set("last_run_at = ?, last_run_id = ?, last_error = ?", db.At(at), runID, reason).
			Where("o.id = ? AND (o.last_run_at IS NULL OR o.last_run_at <= ?)", id, db.At(at)))
		return err
	})
	return db.Wrap(err, "settle a slot")
}

func (s *Store) ForgetSlots(ctx context.Context, age time.Duration) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		_, err := s.d.InUnit(ctx).NewDelete().Model((*slot)(nil)).
			Where("s.settled_at IS NOT NULL AND s.settled_at < ?", s.dialect.WallNow().Add(-age)).Exec(ctx)
		return err
	})
	return db.Wrap(err, "delete old slots")
}
