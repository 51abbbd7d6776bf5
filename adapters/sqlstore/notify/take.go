package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/notify"
)

// firsts lists of each lane the delivery that is due before the others, and when. It steps from one lane with pending deliveries to the next
// by the index, however many deliveries wait in each. What it is narrowed to follows, and the end.
const (
	inLane = "FROM notify_deliveries AS f WHERE f.status = 'pending' AND f.lane = lanes.lane ORDER BY f.due_at, f.id LIMIT 1)"
	firsts = "(WITH RECURSIVE lanes (lane) AS (SELECT min(lane) FROM notify_deliveries WHERE status = 'pending' UNION ALL " +
		"SELECT (SELECT min(n.lane) FROM notify_deliveries AS n WHERE n.status = 'pending' AND n.lane > lanes.lane) FROM lanes " +
		"WHERE lanes.lane IS NOT NULL) SELECT (SELECT f.id " + inLane + " AS id, (SELECT f.due_at " + inLane + " AS due_at " +
		"FROM lanes WHERE lanes.lane IS NOT NULL"
	endOfFirsts = ") AS firsts"
)

// TakeDeliveries implements notify.Store. Where other servers take at the same time it may return fewer than there are; wait is short then.
func (s *Store) TakeDeliveries(
	ctx context.Context, limit int, hold time.Duration, full []string,
) (list []notify.Delivery, wait time.Duration, err error) {
	open, busy := "", make([]any, len(full))
	for i, l := range full {
		busy[i] = l
	}
	if len(full) > 0 {
		open = " AND lanes.lane NOT IN (" + marks(len(full)) + ")"
	}
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		list, wait = nil, 0
		now, err := at(ctx, q, s.say.LeaseNow())
		if err != nil {
			return err
		}
		due, err := db.All(ctx, q, func(r db.Row) (id any, err error) {
			var text string
			err = r.Scan(&text)
			return text, err
		}, "SELECT id FROM "+firsts+open+endOfFirsts+" WHERE due_at <= ? ORDER BY due_at, id LIMIT ?",
			append(append([]any(nil), busy...), db.At(now), limit)...)
		if err != nil {
			return err
		}
		if len(due) > 0 {
			if list, err = s.book(ctx, q, due, now, hold); err != nil {
				return err
			}
		}
		next, ok, err := db.One(ctx, q, instant, "SELECT min(due_at) FROM "+firsts+open+endOfFirsts, busy...)
		if err == nil && ok && !next.IsZero() {
			wait = max(next.Sub(now), time.Microsecond)
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("take deliveries: %w", err)
	}
	return list, wait, nil
}

// book counts a try of those of the deliveries that are still due and that nobody else is taking.
func (s *Store) book(ctx context.Context, q bun.IDB, ids []any, now time.Time, hold time.Duration) ([]notify.Delivery, error) {
	list, err := db.All(ctx, q, scan, "SELECT "+columns+" FROM notify_deliveries WHERE id IN ("+marks(len(ids))+
		") AND status = 'pending' AND due_at <= ? ORDER BY due_at, id"+s.say.ForUpdateSkipLocked(), append(ids, db.At(now))...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	args := []any{s.say.LeaseNow().Add(hold)}
	for i := range list {
		list[i].Attempts++
		args = append(args, list[i].ID)
	}
	_, err = db.Exec(ctx, q, "UPDATE notify_deliveries SET attempts = attempts + 1, due_at = ? WHERE id IN ("+marks(len(list))+")", args...)
	return list, err
}
