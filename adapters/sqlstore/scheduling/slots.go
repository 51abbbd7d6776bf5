package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Due implements scheduling.SlotStore.
func (s *Store) Due(ctx context.Context, limit int) (due []scheduling.Schedule, now, next time.Time, err error) {
	q := s.d.Read(ctx)
	fail := func(err error) ([]scheduling.Schedule, time.Time, time.Time, error) {
		return nil, time.Time{}, time.Time{}, fmt.Errorf("look for schedules that are due: %w", err)
	}
	// The time is read first and then compared as a value, so that an index finds what is due.
	now, _, err = db.One(ctx, q, instant, "SELECT ? AS at", s.say.WallNow())
	if err != nil {
		return fail(err)
	}
	due, err = db.All(ctx, q, scanSchedule, selectSchedule+" WHERE r.enabled AND r.next_run_at <= ? ORDER BY r.next_run_at, r.id LIMIT ?",
		db.At(now), limit)
	if err != nil {
		return fail(err)
	}
	if len(due) > 0 {
		return due, now, time.Time{}, nil
	}
	next, _, err = db.One(ctx, q, instant, "SELECT min(r.next_run_at) FROM schedules AS r WHERE r.enabled AND r.next_run_at > ?", db.At(now))
	if err != nil {
		return fail(err)
	}
	return nil, now, next, nil
}

const stillNext = " WHERE id = ? AND enabled AND next_run_at = ?"

// Advance implements scheduling.SlotStore. Where the slot exists already, which is a change of the schedule that named it again, the
// next slot moves on all the same: the schedule would stay due for ever.
func (s *Store) Advance(ctx context.Context, id string, was, next, slot time.Time, hold time.Duration) (ok bool, err error) {
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		ok = false
		n, err := db.Exec(ctx, q, "UPDATE schedules SET next_run_at = ?"+stillNext, db.At(next), id, db.At(was))
		if err != nil || n == 0 {
			return err
		}
		if slot.IsZero() {
			ok = true
			return nil
		}
		n, err = db.Exec(ctx, q, "INSERT INTO schedule_slots (schedule_id, slot, held_until, run_id, reason, settled_at) "+
			"VALUES (?, ?, ?, '', '', NULL) ON CONFLICT DO NOTHING", id, db.At(slot), s.say.LeaseNow().Add(hold))
		ok = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("book a slot: %w", err)
	}
	return ok, nil
}

// Skip implements scheduling.SlotStore.
func (s *Store) Skip(ctx context.Context, id string, was, next time.Time, reason string) (ok bool, err error) {
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		n, err := db.Exec(ctx, q, "UPDATE schedules SET next_run_at = ?, last_error = ?"+stillNext, db.At(next), reason, id, db.At(was))
		ok = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("skip a slot: %w", err)
	}
	return ok, nil
}

// Abandoned implements scheduling.SlotStore. The longest abandoned come first. A slot goes with its schedule.
func (s *Store) Abandoned(ctx context.Context, hold time.Duration, limit int) (found []scheduling.Firing, err error) {
	type slot struct {
		id string
		at time.Time
	}
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		found = nil
		slots, err := db.All(ctx, q, func(r db.Row) (x slot, err error) {
			var at db.Time
			err = r.Scan(&x.id, &at)
			x.at = at.Time
			return x, err
		}, "SELECT schedule_id, slot FROM schedule_slots WHERE settled_at IS NULL AND held_until <= ? "+
			"ORDER BY held_until, schedule_id, slot LIMIT ?"+s.say.ForUpdateSkipLocked(), s.say.LeaseNow(), limit)
		if err != nil {
			return err
		}
		for _, x := range slots {
			_, err := db.Exec(ctx, q, "UPDATE schedule_slots SET held_until = ? WHERE schedule_id = ? AND slot = ?",
				s.say.LeaseNow().Add(hold), x.id, db.At(x.at))
			if err != nil {
				return err
			}
			r, err := scheduleByID(ctx, q, x.id)
			if err != nil {
				return err
			}
			found = append(found, scheduling.Firing{Schedule: r, Slot: x.at})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for abandoned slots: %w", err)
	}
	return found, nil
}

// Settle implements scheduling.SlotStore. A run that was noted stays: the slot made it, whoever says otherwise. A slot that does not
// exist is passed over.
func (s *Store) Settle(ctx context.Context, id string, slot time.Time, runID, reason string) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		if _, err := db.Count(ctx, q, "SELECT revision FROM schedules WHERE id = ?"+s.say.ForUpdate(), id); err != nil {
			return err
		}
		n, err := db.Exec(ctx, q, "UPDATE schedule_slots SET run_id = ?, reason = ?, settled_at = ? WHERE schedule_id = ? AND slot = ? AND run_id = ''",
			runID, reason, s.say.WallNow(), id, db.At(slot))
		if err != nil || n == 0 {
			return err
		}
		_, err = db.Exec(ctx, q, "UPDATE schedules SET last_run_at = ?, last_run_id = ?, last_error = ? "+
			"WHERE id = ? AND (last_run_at IS NULL OR last_run_at <= ?)", db.At(slot), runID, reason, id, db.At(slot))
		return err
	})
	if err != nil {
		return fmt.Errorf("settle a slot: %w", err)
	}
	return nil
}

// ForgetSlots implements scheduling.SlotStore.
func (s *Store) ForgetSlots(ctx context.Context, age time.Duration) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		_, err := db.Exec(ctx, q, "DELETE FROM schedule_slots WHERE settled_at IS NOT NULL AND settled_at < ?", s.say.WallNow().Add(-age))
		return err
	})
	if err != nil {
		return fmt.Errorf("forget old slots: %w", err)
	}
	return nil
}
