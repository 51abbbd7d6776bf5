package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Remember implements scheduling.DeliveryStore. A trigger that is gone is TriggerNotFound.
func (s *Store) Remember(ctx context.Context, triggerID, delivery string, hold time.Duration) (was scheduling.Delivered, fresh bool, err error) {
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		was, fresh = scheduling.Delivered{}, false
		now := s.say.LeaseNow()
		n, err := db.Exec(ctx, q, "INSERT INTO hook_deliveries (trigger_id, delivery_id, seen_at, held_until, run_id, ignored, done) "+
			"VALUES (?, ?, ?, ?, '', '', FALSE) ON CONFLICT (trigger_id, delivery_id) DO UPDATE SET seen_at = excluded.seen_at, "+
			"held_until = excluded.held_until, run_id = '', ignored = '', done = FALSE "+
			"WHERE hook_deliveries.seen_at <= ? OR (NOT hook_deliveries.done AND hook_deliveries.held_until <= ?)",
			triggerID, delivery, now, now.Add(hold), now.Add(-scheduling.DeliveryMemory), now)
		if err != nil || n > 0 {
			fresh = n > 0
			return err
		}
		// The statement above has locked the row that it left alone.
		was, _, err = db.One(ctx, q, func(r db.Row) (d scheduling.Delivered, err error) { return d, r.Scan(&d.RunID, &d.Ignored, &d.Done) },
			"SELECT run_id, ignored, done FROM hook_deliveries WHERE trigger_id = ? AND delivery_id = ?", triggerID, delivery)
		return err
	})
	switch {
	case db.IsForeignKey(err):
		return scheduling.Delivered{}, false, ofTriggers.none(triggerID)
	case err != nil:
		return scheduling.Delivered{}, false, fmt.Errorf("remember a delivery: %w", err)
	}
	return was, fresh, nil
}

// SettleDelivery implements scheduling.DeliveryStore. What was ignored leaves the trigger as it is.
func (s *Store) SettleDelivery(ctx context.Context, triggerID, delivery string, d scheduling.Delivered, failure string) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		if d.Ignored == "" || failure != "" {
			_, err := db.Exec(ctx, q, "UPDATE triggers SET last_fired_at = ?, last_run_id = ?, last_error = ? WHERE id = ?",
				s.say.WallNow(), d.RunID, failure, triggerID)
			if err != nil {
				return err
			}
		}
		if failure != "" {
			_, err := db.Exec(ctx, q, "DELETE FROM hook_deliveries WHERE trigger_id = ? AND delivery_id = ? AND NOT done", triggerID, delivery)
			return err
		}
		_, err := db.Exec(ctx, q, "UPDATE hook_deliveries SET run_id = ?, ignored = ?, done = TRUE WHERE trigger_id = ? AND delivery_id = ?",
			d.RunID, d.Ignored, triggerID, delivery)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle a delivery: %w", err)
	}
	return nil
}

// ForgetDeliveries implements scheduling.DeliveryStore.
func (s *Store) ForgetDeliveries(ctx context.Context) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		_, err := db.Exec(ctx, q, "DELETE FROM hook_deliveries WHERE seen_at <= ?", s.say.LeaseNow().Add(-scheduling.DeliveryMemory))
		return err
	})
	if err != nil {
		return fmt.Errorf("forget old deliveries: %w", err)
	}
	return nil
}
