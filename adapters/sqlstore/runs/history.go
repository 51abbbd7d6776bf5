package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// hostsPerQuery bounds one statement's text.
const hostsPerQuery = 1000

// HostMeans implements runs.SummaryStore. The mean is over the latest ten runs, the older of them weighing less.
func (s *Store) HostMeans(ctx context.Context, lineage string, hosts []string) (map[string]time.Duration, error) {
	out := make(map[string]time.Duration, len(hosts))
	for part := range slices.Chunk(hosts, hostsPerQuery) {
		args := append([]any{lineage}, anys(part)...)
		rows, err := s.d.Read(ctx).QueryContext(ctx,
			"SELECT host, mean_us FROM host_timings WHERE lineage = ? AND host IN ("+marks(len(part))+")", args...)
		if err != nil {
			return nil, db.Translate(fmt.Errorf("read the hosts' means: %w", err))
		}
		for rows.Next() {
			var host string
			var us int64
			if err = rows.Scan(&host, &us); err != nil {
				break
			}
			out[host] = time.Duration(us) * time.Microsecond
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, db.Translate(fmt.Errorf("read the hosts' means: %w", err))
		}
	}
	return out, nil
}

// Previous implements runs.SummaryStore. The previous of a top-level run is one too; that of a child is a child of
// another parent, of the same shard or step.
func (s *Store) Previous(ctx context.Context, r *runs.Run, reader access.Scope) (string, error) {
	query := "SELECT r.id FROM runs AS r WHERE r.lineage = ? AND r.lineage IS NOT NULL AND (r.created_at, r.seq) < (?, ?) AND r.ended_at IS NOT NULL"
	args := []any{r.Lineage, db.At(r.CreatedAt), r.Seq}
	if r.ParentID == "" {
		query += " AND r.parent_id IS NULL"
	} else {
		query += " AND r.parent_id <> ? AND r.kind = ? AND coalesce(r.shard_index, 0) = ? AND coalesce(r.step_name, '') = ?"
		args = append(args, r.ParentID, string(r.Kind), r.ShardIndex, r.StepName)
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
		query += " AND " + may.text
		args = append(args, may.args...)
	}
	var id string
	err := s.d.Read(ctx).QueryRowContext(ctx, query+" ORDER BY r.created_at DESC, r.seq DESC LIMIT 1", args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", db.Translate(fmt.Errorf("find the run before %s: %w", r.ID, err))
	}
	return id, nil
}
