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
	TriggerID     string `bun:",pk"`
	DeliveryID    string `bun:",pk"` // an id, or the digest of a body
	Body          bool
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

// rowsOf returns a row for each key. The body is first: all writers lock the rows in this order.
func rowsOf(triggerID string, k scheduling.DeliveryKeys) (list []hookDelivery) {
	if k.Body != "" {
		list = append(list, hookDelivery{TriggerID: triggerID, DeliveryID: k.Body, Body: true})
	}
	if k.ID != "" {
		list = append(list, hookDelivery{TriggerID: triggerID, DeliveryID: k.ID})
	}
	return list
}

// memory returns how long a key is known.
func (d *hookDelivery) memory() time.Duration {
	if d.Body {
		return scheduling.BodyMemory
	}
	return scheduling.DeliveryMemory
}

func (s *Store) Remember(
	ctx context.Context, triggerID string, k scheduling.DeliveryKeys, hold time.Duration,
) (was scheduling.Delivered, fresh bool, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) error {
		was, fresh = scheduling.Delivered{}, true
		list := rowsOf(triggerID, k)
		for i := range list {
			row := list[i]
			if fresh, err = s.take(ctx, &row, hold); err != nil {
				return err
			}
			if !fresh {
				was = scheduling.Delivered(row.deliveredColumns)
				return s.forget(ctx, list[:i])
			}
		}
		return nil
	})
	switch {
	case db.IsForeignKey(err):
		return scheduling.Delivered{}, false, triggers.None(triggerID)
	case err != nil:
		return scheduling.Delivered{}, false, fmt.Errorf("remember a delivery: %w", err)
	}
	return was, fresh, nil
}

// take stores a key, or reads the row of one that is known.
func (s *Store) take(ctx context.Context, row *hookDelivery, hold time.Duration) (fresh bool, err error) {
	q, now := s.d.InUnit(ctx), s.dialect.LeaseNow()
	n, err := db.Modify(ctx, q.NewInsert().Model(row).Value("seen_at", "?", now).
		Value("held_until", "?", now.Add(hold)).Returning("NULL").
		On("CONFLICT (trigger_id, delivery_id) DO UPDATE").
		Where("d.seen_at <= ? OR (NOT d.done AND d.held_until <= ?)", now.Add(-row.memory()), now))
	if err != nil || n > 0 {
		return n > 0, err
	}
	// The statement above has locked the existing row.
	return false, q.NewSelect().Model(row).WherePK().Scan(ctx)
}

// forget deletes the rows of deliveries that are not done.
func (s *Store) forget(ctx context.Context, list []hookDelivery) error {
	if len(list) == 0 {
		return nil
	}
	_, err := s.d.InUnit(ctx).NewDelete().Model(&list).WherePK().Where("NOT d.done").Exec(ctx)
	return err
}

func (s *Store) SettleDelivery(
	ctx context.Context, triggerID string, k scheduling.DeliveryKeys, d scheduling.Delivered, failure string,
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
		list := rowsOf(triggerID, k)
		if failure != "" || d.Ignored != "" {
			return s.forget(ctx, list)
		}
		for _, row := range list {
			row.deliveredColumns = deliveredColumns{d.RunID, d.Ignored, true}
			_, err := q.NewUpdate().Model(&row).ExcludeColumn("body", "seen_at", "held_until").WherePK().Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return db.Wrap(err, "settle a delivery")
}

func (s *Store) ForgetDeliveries(ctx context.Context) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		now := s.dialect.LeaseNow()
		_, err := s.d.InUnit(ctx).NewDelete().Model((*hookDelivery)(nil)).
			Where("d.seen_at <= ?", now.Add(-scheduling.BodyMemory)).
			WhereOr("NOT d.body AND d.seen_at <= ?", now.Add(-scheduling.DeliveryMemory)).Exec(ctx)
		return err
	})
	return db.Wrap(err, "delete old deliveries")
}
