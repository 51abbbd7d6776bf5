package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/scheduling"
)

type hookDelivery struct {
	bun.BaseModel `bun:"table:hook_deliveries,alias:d"`
	TriggerID     string    `bun:",pk"`
	DeliveryID    string    `bun:",pk"`
	SeenAt        time.Time // by the clock of the leases
	HeldUntil     time.Time
	deliveredColumns
}

// deliveredColumns is scheduling.Delivered with the names of its columns.
type deliveredColumns struct {
	RunID   string
	Ignored string
	Done    bool
}

// Errors: TriggerNotFound if the trigger was deleted.
func (s *Store) Remember(
	ctx context.Context, triggerID, delivery string, hold time.Duration,
) (was scheduling.Delivered, fresh bool, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) error {
		was = scheduling.Delivered{}
		q, now, row := s.d.InUnit(ctx), s.dialect.LeaseNow(), hookDelivery{TriggerID: triggerID, DeliveryID: delivery}
		n, err := db.Modify(ctx, q.NewInsert().Model(&row).Value("seen_at", "?", now).
			Value("held_until", "?", now.Add(hold)).Returning("NULL").
			On("CONFLICT (trigger_id, delivery_id) DO UPDATE").
			Where("d.seen_at <= ? OR (NOT d.done AND d.held_until <= ?)", now.Add(-scheduling.DeliveryMemory), now))
		if fresh = n > 0; err != nil || fresh {
			return err
		}
		// The statement above has locked the existing row.
		err = q.NewSelect().Model(&row).WherePK().Scan(ctx)
		was = scheduling.Delivered(row.deliveredColumns)
		return err
	})
	switch {
	case db.IsForeignKey(err):
		return scheduling.Delivered{}, false, triggers.None(triggerID)
	case err != nil:
		return scheduling.Delivered{}, false, fmt.Errorf("remember a delivery: %w", err)
	}
	return was, fresh, nil
}

// An ignored delivery does not change the trigger.
func (s *Store) SettleDelivery(
	ctx context.Context, triggerID, delivery string, d scheduling.Delivered, failure string,
) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		q := s.d.InUnit(ctx)
		if d.Ignored == "" || failure != "" {
			_, err := q.NewUpdate().Model((*trigger)(nil)).
				Set("last_fired_at = ?, last_run_id = ?, last_error = ?", s.dialect.WallNow(), d.RunID, failure).
				Where("o.id = ?", triggerID).Exec(ctx)
			if err != nil {
				return err
			}
		}
		row := hookDelivery{TriggerID: triggerID, DeliveryID: delivery, deliveredColumns: deliveredColumns(d)}
		if failure != "" {
			_, err := q.NewDelete().Model(&row).WherePK().Where("NOT d.done").Exec(ctx)
			return err
		}
		row.Done = true
		_, err := q.NewUpdate().Model(&row).ExcludeColumn("seen_at", "held_until").WherePK().Exec(ctx)
		return err
	})
	return db.Wrap(err, "settle a delivery")
}

func (s *Store) ForgetDeliveries(ctx context.Context) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		_, err := s.d.InUnit(ctx).NewDelete().Model((*hookDelivery)(nil)).
			Where("d.seen_at <= ?", s.dialect.LeaseNow().Add(-scheduling.DeliveryMemory)).Exec(ctx)
		return err
	})
	return db.Wrap(err, "delete old deliveries")
}
