package execution

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/execution"
)

var _ execution.QueueStore = (*Store)(nil)

type queueLimit struct {
	bun.BaseModel `bun:"table:queue_limits,alias:q"`
	Name          string `bun:",pk"`
	MaxConcurrent int
}

func (s *Store) PutQueueLimit(ctx context.Context, name string, maxConcurrent int) error {
	q, row := s.d.InUnit(ctx), queueLimit{Name: name, MaxConcurrent: maxConcurrent}
	if maxConcurrent == 0 {
		_, err := db.Modify(ctx, q.NewDelete().Model(&row).WherePK())
		return db.Wrap(err, "delete the limit of a queue")
	}
	_, err := db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT (name) DO UPDATE").Returning("NULL"))
	return db.Wrap(err, "store the limit of a queue")
}

func (s *Store) QueueLimits(ctx context.Context) (map[string]int, error) {
	var rows []queueLimit
	if err := s.d.Read(ctx).NewSelect().Model(&rows).Scan(ctx); err != nil {
		return nil, db.Wrap(err, "list the limits of queues")
	}
	out := make(map[string]int, len(rows))
	for _, r := range rows {
		out[r.Name] = r.MaxConcurrent
	}
	return out, nil
}
