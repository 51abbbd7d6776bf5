package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// purgedPerStatement bounds one statement's list of runs.
const purgedPerStatement = 500

// keysPerPurge bounds how many keys and tickets one purge deletes.
const keysPerPurge = 50_000

// PurgeRuns deletes a parent together with its children, after all of them have ended. It keeps gathered facts, which
// are the history of the hosts.
func (s *Store) PurgeRuns(ctx context.Context, t time.Time, limit int) (int, error) {
	q := s.d.InUnit(ctx)
	over := slices.DeleteFunc(runs.Statuses(), func(x runs.Status) bool { return !x.Terminal() })
	tops, err := purgeable(ctx, q.NewSelect().
		Where("r.parent_id IS NULL AND r.created_at < ? AND r.status IN (?)", db.At(t), bun.In(over)).
		Where("NOT EXISTS (SELECT 1 FROM runs AS c WHERE c.parent_id = r.id AND c.ended_at IS NULL)").
		OrderExpr("r.created_at, r.seq").Apply(db.AtMost(limit), s.dialect.LockSkip))
	if err != nil {
		return 0, fmt.Errorf("purge runs: %w", err)
	}
	all := slices.Clone(tops)
	for part := range slices.Chunk(tops, purgedPerStatement) {
		ids := make([]string, len(part))
		for i, r := range part {
			ids[i] = r.ID
		}
		children, err := purgeable(ctx, q.NewSelect().Where("r.parent_id IN (?)", bun.In(ids)))
		if err != nil {
			return 0, fmt.Errorf("purge runs: %w", err)
		}
		all = append(all, children...)
	}
	for part := range slices.Chunk(all, purgedPerStatement) {
		if err := s.purge(ctx, q, part); err != nil {
			return 0, fmt.Errorf("purge runs: %w", err)
		}
	}
	return len(tops), nil
}

// purgeable reads the values of the query's runs that the counters and the index need.
func purgeable(ctx context.Context, q *bun.SelectQuery) ([]*runs.Run, error) {
	var rows []row
	if err := q.Model(&rows).ModelTableExpr("runs AS r").ColumnExpr("r.seq, r.id, r.status, r.queue, r.parent_id").
		Scan(ctx); err != nil {
		return nil, db.Translate(err)
	}
	out := make([]*runs.Run, len(rows))
	for i, w := range rows {
		out[i] = &runs.Run{Seq: w.Seq, ID: w.ID, Status: w.Status, Spec: runs.Spec{Queue: w.Queue},
			ParentID: string(w.ParentID)}
	}
	return out, nil
}

func (s *Store) purge(ctx context.Context, q bun.IDB, part []*runs.Run) error {
	seqs, ids := make([]int64, len(part)), make([]string, len(part))
	deltas := make([]countDelta, len(part))
	for i, r := range part {
		seqs[i], ids[i] = r.Seq, r.ID
		deltas[i] = countOf(r, r.Status, -1)
	}
	remove := func(column string, keys any, tables ...string) error {
		for _, table := range tables {
			if _, err := db.Modify(ctx, q.NewDelete().Table(table).
				Where("? IN (?)", bun.Ident(column), bun.In(keys))); err != nil {
				return err
			}
		}
		return nil
	}
	err := remove("run_seq", seqs, "run_events", "run_logs", "run_hosts", "run_tasks", "run_labels", "run_documents",
		"run_slots", "run_windows", "run_plans")
	if err == nil {
		err = remove("run_id", ids, "idempotency_keys", "stream_tickets")
	}
	if err == nil {
		err = remove(s.dialect.SearchKey(), seqs, searchTable)
	}
	if err == nil {
		err = remove("seq", seqs, "runs")
	}
	if err != nil {
		return err
	}
	return s.addCounts(ctx, deltas...)
}

// PurgeEvents also counts runs that had no events.
func (s *Store) PurgeEvents(ctx context.Context, t time.Time, limit int) (int, error) {
	q := s.d.InUnit(ctx)
	var found []int64
	err := q.NewSelect().TableExpr("runs AS r").Column("r.seq").
		Where("r.ended_at IS NOT NULL AND NOT r.events_purged AND r.ended_at < ?", db.At(t)).
		OrderExpr("r.ended_at, r.seq").Apply(db.AtMost(limit), s.dialect.LockSkip).Scan(ctx, &found)
	if err != nil {
		return 0, db.Wrap(err, "purge events")
	}
	for part := range slices.Chunk(found, purgedPerStatement) {
		_, err := db.Modify(ctx, q.NewDelete().Model((*eventRow)(nil)).Where("run_seq IN (?)", bun.In(part)))
		if err == nil {
			_, err = db.Modify(ctx, q.NewUpdate().Table("runs").Set("events_purged = TRUE").Where("seq IN (?)", bun.In(part)))
		}
		if err != nil {
			return 0, fmt.Errorf("purge events: %w", err)
		}
	}
	return len(found), nil
}

// PurgeKeys deletes a bounded number, the oldest first.
func (s *Store) PurgeKeys(ctx context.Context, before time.Time) error {
	q := s.d.InUnit(ctx)
	keys := q.NewSelect().Model((*idempotencyKey)(nil)).Column("actor_id", "scope", "key").
		Where("k.created_at < ?", db.At(before)).
		OrderExpr("k.created_at").Limit(keysPerPurge)
	if _, err := db.Modify(ctx, q.NewDelete().Model((*idempotencyKey)(nil)).
		Where("(actor_id, scope, key) IN (?)", keys)); err != nil {
		return fmt.Errorf("purge keys: %w", err)
	}
	tickets := q.NewSelect().Model((*ticket)(nil)).Column("hash").Where("t.expires_at <= ?", s.dialect.LeaseNow()).
		OrderExpr("t.expires_at").Limit(keysPerPurge)
	_, err := db.Modify(ctx, q.NewDelete().Model((*ticket)(nil)).Where("hash IN (?)", tickets))
	return db.Wrap(err, "purge tickets")
}
