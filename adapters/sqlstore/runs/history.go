package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// hostsPerQuery bounds one statement's text.
const hostsPerQuery = 1000

// HostMeans returns a mean over about the ten latest runs, with less weight on older ones.
func (s *Store) HostMeans(ctx context.Context, lineage string, hosts []string) (map[string]time.Duration, error) {
	out := make(map[string]time.Duration, len(hosts))
	for part := range slices.Chunk(hosts, hostsPerQuery) {
		var rows []timing
		err := s.d.Read(ctx).NewSelect().Model(&rows).Where("m.lineage = ? AND m.host IN (?)", lineage, bun.In(part)).
			Scan(ctx)
		if err != nil {
			return nil, db.Wrap(err, "read the hosts' means")
		}
		for _, r := range rows {
			out[r.Host] = micros(r.MeanUS)
		}
	}
	return out, nil
}

// Previous returns a top-level run for a top-level run. For a child it returns the child of another parent with the
// same shard or step.
func (s *Store) Previous(ctx context.Context, r *runs.Run, reader access.Scope) (string, error) {
	q := s.d.Read(ctx).NewSelect().TableExpr("runs AS r").Column("r.id").
		Where("r.lineage = ? AND r.lineage IS NOT NULL AND (r.created_at, r.seq) < (?, ?) AND r.ended_at IS NOT NULL",
			r.Lineage, db.At(r.CreatedAt), r.Seq).
		OrderExpr("r.created_at DESC, r.seq DESC").Limit(1)
	if r.ParentID == "" {
		q.Where("r.parent_id IS NULL")
	} else {
		q.Where("r.parent_id <> ? AND r.kind = ? AND coalesce(r.shard_index, 0) = ? AND coalesce(r.step_name, '') = ?",
			r.ParentID, r.Kind, r.ShardIndex, r.StepName)
	}
	if !reader.All {
		v, err := s.view(ctx, reader)
		if err != nil {
			return "", fmt.Errorf("find the run before %s: %w", r.ID, err)
		}
		if v.nothing() {
			return "", nil
		}
		may := v.term().residual(nil)
		q.Where(may.text, may.args...)
	}
	var id string
	if _, err := db.First(ctx, q, &id); err != nil {
		return "", fmt.Errorf("find the run before %s: %w", r.ID, err)
	}
	return id, nil
}
