package notify

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/notify"
)

// firsts selects the delivery of each lane that is due first, and its time. It steps through the lanes with pending
// deliveries by the index, so that its time does not depend on the number of deliveries. It is raw because the query
// builder lacks such a recursion. Callers append conditions and the closing parenthesis.
const (
	inLane = "FROM notify_deliveries AS f WHERE f.status = 'pending' AND f.lane = lanes.lane ORDER BY f.due_at, f.id " +
		"LIMIT 1)"
	firsts = "(WITH RECURSIVE lanes (lane) AS (SELECT min(lane) FROM notify_deliveries WHERE status = 'pending' UNION " +
		"ALL SELECT (SELECT min(n.lane) FROM notify_deliveries AS n WHERE n.status = 'pending' AND n.lane > lanes.lane) " +
		"FROM lanes " +
		"WHERE lanes.lane IS NOT NULL) SELECT (SELECT f.id " + inLane + " AS id, (SELECT f.due_at " + inLane + " AS due_at " +
		"FROM lanes WHERE lanes.lane IS NOT NULL"
)

// open selects from firsts, without the full lanes.
func open(q bun.IDB, full []string) *bun.SelectQuery {
	if len(full) == 0 {
		return q.NewSelect().TableExpr(firsts + ") AS firsts")
	}
	return q.NewSelect().TableExpr(firsts+" AND lanes.lane NOT IN (?)) AS firsts", bun.In(full))
}

// TakeDeliveries may return fewer than are due if other servers claim at the same time. wait is then short.
func (s *Store) TakeDeliveries(
	ctx context.Context, limit int, hold time.Duration, full []string,
) (list []notify.Delivery, wait time.Duration, err error) {
	err = s.d.Do(ctx, func(ctx context.Context) error {
		list, wait = nil, 0
		q := s.d.InUnit(ctx)
		now, err := value(ctx, q, s.dialect.LeaseNow())
		if err != nil {
			return err
		}
		var due []string
		err = open(q, full).Column("id").Where("due_at <= ?", now).OrderExpr("due_at, id").Apply(db.AtMost(limit)).
			Scan(ctx, &due)
		if err == nil && len(due) > 0 {
			list, err = s.take(ctx, q, due, now, hold)
		}
		if err != nil {
			return err
		}
		var next db.Time
		if err := open(q, full).ColumnExpr("min(due_at)").Scan(ctx, &next); err != nil {
			return err
		}
		if !next.IsZero() {
			wait = max(next.Sub(now.Time), time.Microsecond)
		}
		return nil
	})
	return list, wait, db.Wrap(err, "take deliveries")
}

// take claims the deliveries that are still due and that no other server is claiming, and counts a try of each.
func (s *Store) take(
	ctx context.Context, q bun.IDB, ids []string, now db.Time, hold time.Duration,
) ([]notify.Delivery, error) {
	var rows []delivery
	err := q.NewSelect().Model(&rows).ExcludeColumn("due_at").
		Where("d.id IN (?) AND d.status = 'pending' AND d.due_at <= ?", bun.In(ids), now).
		OrderExpr("d.due_at, d.id").Apply(s.dialect.LockSkip).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids = ids[:0]
	for i := range rows {
		rows[i].Attempts++
		ids = append(ids, rows[i].ID)
	}
	_, err = q.NewUpdate().Model((*delivery)(nil)).
		Set("attempts = attempts + 1, due_at = ?", s.dialect.LeaseNow().Add(hold)).
		Where("d.id IN (?)", bun.In(ids)).Exec(ctx)
	return deliveries(rows), err
}
