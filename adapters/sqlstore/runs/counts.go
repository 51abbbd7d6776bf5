package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// countSlots spreads one count over rows: each process changes those of its own slot, so that servers on Postgres
// seldom wait for one another.
const countSlots = 16

// countKey names a row of run_counts.
type countKey struct {
	status runs.Status
	queue  string
	top    bool
}

type countDelta struct {
	countKey
	n int64
}

// countRow is a row of the counters.
type countRow struct {
	bun.BaseModel `bun:"table:run_counts"`
	Status        runs.Status
	Queue         string
	Top           bool
	Slot          int
	N             int64
}

func countOf(r *runs.Run, status runs.Status, n int64) countDelta {
	return countDelta{countKey{status, r.Spec.Queue, r.ParentID == ""}, n}
}

// counted is the key of the changes of counters in a unit.
type counted struct{ d *db.DB }

// addCounts changes counters when the unit is about to commit, together with those of all units that share the commit.
func (s *Store) addCounts(ctx context.Context, deltas ...countDelta) error {
	return tx.BeforeCommit(ctx, tx.Early, counted{s.d}, deltas, s.sumCounts)
}

// sumCounts changes counters always in the same order of rows, so that two writers do not deadlock. The statement is
// raw because each claim and each end of a run executes it, and raw statements stay prepared.
func (s *Store) sumCounts(ctx context.Context, all [][]countDelta) error {
	sum := map[countKey]int64{}
	for _, d := range slices.Concat(all...) {
		sum[d.countKey] += d.n
	}
	var rows []countRow
	for k, n := range sum {
		if n != 0 {
			rows = append(rows, countRow{Status: k.status, Queue: k.queue, Top: k.top, Slot: s.slot, N: n})
		}
	}
	slices.SortFunc(rows, func(a, b countRow) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Queue, b.Queue), compareBool(a.Top, b.Top))
	})
	for part := range slices.Chunk(rows, countsPerInsert) {
		query, args, err := s.models.counts.Insertion(part,
			" ON CONFLICT (status, queue, top, slot) DO UPDATE SET n = run_counts.n + excluded.n")
		if err == nil {
			err = s.d.AtEnd(ctx, db.Statement{Query: query, Args: args})
		}
		if err != nil {
			return db.Wrap(err, "count runs")
		}
	}
	return nil
}

// countsPerInsert bounds one statement's text.
const countsPerInsert = 200

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (s *Store) Counts(ctx context.Context) ([]runs.Count, error) {
	type count struct {
		Status runs.Status
		Queue  string
		N, Top int64
		Oldest db.Time
	}
	rows, err := db.Query[count](ctx, s.d.Read(ctx),
		"SELECT c.status, c.queue, c.n, c.top, CASE WHEN c.status = 'pending' THEN "+
			"(SELECT min(r.queued_at) FROM runs AS r WHERE r.status = 'pending' AND r.queue = c.queue) END AS oldest "+
			"FROM (SELECT status, queue, CAST(sum(n) AS BIGINT) AS n, CAST(sum(CASE WHEN top THEN n ELSE 0 END) AS BIGINT) AS "+
			"top FROM run_counts GROUP BY status, queue) AS c WHERE c.n <> 0 ORDER BY c.status, c.queue")
	if err != nil {
		return nil, fmt.Errorf("count runs: %w", err)
	}
	return db.Convert(rows, func(r count) runs.Count {
		return runs.Count{Status: r.Status, Queue: r.Queue, Runs: r.N, Top: r.Top, Oldest: r.Oldest.Time}
	}), nil
}

// topCount counts the top-level runs by the counters. Statuses and a queue restrict it if they are given. The statement
// is raw because each list executes it.
func (s *Store) topCount(ctx context.Context, statuses []runs.Status, queue string) (int64, error) {
	query, args := "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM run_counts WHERE top", []any(nil)
	if len(statuses) > 0 {
		query += " AND status IN (" + marks(len(statuses)) + ")"
		for _, status := range statuses {
			args = append(args, string(status))
		}
	}
	if queue != "" {
		query, args = query+" AND queue = ?", append(args, queue)
	}
	n, _, err := db.QueryRow[int64](ctx, s.d.Read(ctx), query, args...)
	return n, err
}
