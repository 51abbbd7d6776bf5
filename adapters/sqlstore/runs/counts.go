package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// countSlots spreads one count over rows, so that writers on Postgres seldom wait for one another.
const countSlots = 16

// countKey names a row of run_counts.
type countKey struct {
	status runs.Status
	queue  string
	top    bool
	slot   int
}

type countDelta struct {
	countKey
	n int64
}

func countOf(r *runs.Run, status runs.Status, n int64) countDelta {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.ID)) // a hash never fails
	return countDelta{countKey{status, r.Spec.Queue, r.ParentID == "", int(h.Sum32() % countSlots)}, n}
}

// addCounts changes counters. The rows are changed in one order everywhere, so that two writers do not lock each
// other out.
func addCounts(ctx context.Context, q bun.IDB, deltas ...countDelta) error {
	sum := map[countKey]int64{}
	for _, d := range deltas {
		sum[d.countKey] += d.n
	}
	merged := make([]countDelta, 0, len(sum))
	for k, n := range sum {
		if n != 0 {
			merged = append(merged, countDelta{k, n})
		}
	}
	slices.SortFunc(merged, func(a, b countDelta) int {
		return cmp.Or(cmp.Compare(a.status, b.status), cmp.Compare(a.queue, b.queue), cmp.Compare(a.slot, b.slot), compareBool(a.top, b.top))
	})
	rows := make([][]any, len(merged))
	for i, d := range merged {
		rows[i] = []any{string(d.status), d.queue, d.top, d.slot, d.n}
	}
	err := insertRows(ctx, q, "INSERT INTO run_counts (status, queue, top, slot, n) VALUES ",
		" ON CONFLICT (status, queue, top, slot) DO UPDATE SET n = run_counts.n + excluded.n", rows)
	if err != nil {
		return fmt.Errorf("count runs: %w", err)
	}
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Counts implements runs.Store.
func (s *Store) Counts(ctx context.Context) ([]runs.Count, error) {
	rows, err := s.d.Read(ctx).QueryContext(ctx, "SELECT c.status, c.queue, c.n, c.top, CASE WHEN c.status = 'pending' THEN "+
		"(SELECT min(r.queued_at) FROM runs AS r WHERE r.status = 'pending' AND r.queue = c.queue) END "+
		"FROM (SELECT status, queue, CAST(sum(n) AS BIGINT) AS n, CAST(sum(CASE WHEN top THEN n ELSE 0 END) AS BIGINT) AS top "+
		"FROM run_counts GROUP BY status, queue) AS c WHERE c.n <> 0 ORDER BY c.status, c.queue")
	if err != nil {
		return nil, db.Translate(fmt.Errorf("count runs: %w", err))
	}
	var out []runs.Count
	for rows.Next() {
		var c runs.Count
		var oldest db.Time
		if err = rows.Scan(&c.Status, &c.Queue, &c.Runs, &c.Top, &oldest); err != nil {
			break
		}
		c.Oldest = oldest.Time
		out = append(out, c)
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// topCount counts the top-level runs of some states and one queue, where those are named, from the counters.
func (s *Store) topCount(ctx context.Context, statuses []runs.Status, queue string) (int64, error) {
	query, args := "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM run_counts WHERE top", []any(nil)
	if len(statuses) > 0 {
		query += " AND status IN (" + marks(len(statuses)) + ")"
		args = append(args, anys(statuses)...)
	}
	if queue != "" {
		query, args = query+" AND queue = ?", append(args, queue)
	}
	var n int64
	err := s.d.Read(ctx).QueryRowContext(ctx, query, args...).Scan(&n)
	return n, db.Translate(err)
}
