package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

type loggedDelivery struct {
	bun.BaseModel `bun:"table:hook_log,alias:l"`
	Seq           int64 `bun:",pk,autoincrement"`
	TriggerID     string
	loggedColumns
}

// loggedColumns is scheduling.LoggedDelivery with the names of its columns.
type loggedColumns struct {
	At         time.Time
	Verdict    scheduling.Verdict
	Event      string
	DeliveryID string
	Reason     string
	RunID      string
}

func (s *Store) LogDelivery(ctx context.Context, triggerID string, d scheduling.LoggedDelivery) error {
	err := s.d.Do(ctx, func(ctx context.Context) error {
		q := s.d.InUnit(ctx)
		row := loggedDelivery{TriggerID: triggerID, loggedColumns: loggedColumns(d)}
		if _, err := q.NewInsert().Model(&row).Value("at", "?", s.dialect.WallNow()).Exec(ctx); err != nil {
			return err
		}
		oldest := q.NewSelect().Model((*loggedDelivery)(nil)).Column("seq").Where("l.trigger_id = ?", triggerID).
			OrderExpr("l.seq DESC").Limit(1).Offset(scheduling.DeliveryLog)
		_, err := q.NewDelete().Model((*loggedDelivery)(nil)).Where("l.trigger_id = ? AND l.seq <= (?)", triggerID, oldest).
			Exec(ctx)
		return err
	})
	if db.IsForeignKey(err) {
		return triggers.None(triggerID)
	}
	return db.Wrap(err, "log a delivery")
}

func (s *Store) LoggedDeliveries(
	ctx context.Context, triggerID string, w page.Window,
) ([]scheduling.LoggedDelivery, int, error) {
	q := s.d.Read(ctx)
	total, err := q.NewSelect().Model((*loggedDelivery)(nil)).Where("l.trigger_id = ?", triggerID).Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count the deliveries of a trigger: %w", err)
	}
	var rows []loggedDelivery
	err = q.NewSelect().Model(&rows).Where("l.trigger_id = ?", triggerID).OrderExpr("l.seq DESC").
		Limit(int64(w.Rows())).Offset(int64(w.Offset)).Scan(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list the deliveries of a trigger: %w", err)
	}
	out := make([]scheduling.LoggedDelivery, len(rows))
	for i, row := range rows {
		out[i] = scheduling.LoggedDelivery(row.loggedColumns)
	}
	return out, int(total), nil
}
