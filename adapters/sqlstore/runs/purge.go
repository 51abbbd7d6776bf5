package runs

import (
	"context"
	"errors"
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

const ended = "status IN ('succeeded', 'failed', 'canceled', 'interrupted', 'rejected')"

// PurgeRuns implements runs.Purger. A parent goes with its children, and only once all of them have ended. Gathered
// facts stay: they are the estate's history and name the run that gathered them.
func (s *Store) PurgeRuns(ctx context.Context, t time.Time, limit int) (int, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return 0, err
	}
	tops, err := doomed(ctx, q, "parent_id IS NULL AND created_at < ? AND "+ended+
		" AND NOT EXISTS (SELECT 1 FROM runs AS c WHERE c.parent_id = runs.id AND c.ended_at IS NULL)"+
		" ORDER BY created_at, seq LIMIT ?"+s.say.ForUpdateSkipLocked(), db.At(t), limit)
	if err != nil {
		return 0, fmt.Errorf("purge runs: %w", err)
	}
	all := slices.Clone(tops)
	for part := range slices.Chunk(tops, purgedPerStatement) {
		ids := make([]any, len(part))
		for i, r := range part {
			ids[i] = r.ID
		}
		children, err := doomed(ctx, q, "parent_id IN ("+marks(len(ids))+")", ids...)
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

// doomed reads what the counters and the index must know of the runs that a condition names.
func doomed(ctx context.Context, q bun.IDB, condition string, args ...any) ([]*runs.Run, error) {
	rows, err := q.QueryContext(ctx, "SELECT seq, id, status, queue, parent_id FROM runs WHERE "+condition, args...)
	if err != nil {
		return nil, db.Translate(err)
	}
	var out []*runs.Run
	for rows.Next() {
		var r runs.Run
		var parent text
		if err = rows.Scan(&r.Seq, &r.ID, &r.Status, &r.Spec.Queue, &parent); err != nil {
			break
		}
		r.ParentID = string(parent)
		out = append(out, &r)
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

func (s *Store) purge(ctx context.Context, q bun.IDB, part []*runs.Run) error {
	seqs, ids := make([]any, len(part)), make([]any, len(part))
	deltas := make([]countDelta, len(part))
	for i, r := range part {
		seqs[i], ids[i] = r.Seq, r.ID
		deltas[i] = countOf(r, r.Status, -1)
	}
	in := " IN (" + marks(len(part)) + ")"
	for _, table := range []string{"run_events", "run_logs", "run_hosts", "run_tasks", "run_labels", "run_documents"} {
		if _, err := exec(ctx, q, "DELETE FROM "+table+" WHERE run_seq"+in, seqs...); err != nil {
			return err
		}
	}
	for _, table := range []string{"idempotency_keys", "stream_tickets"} {
		if _, err := exec(ctx, q, "DELETE FROM "+table+" WHERE run_id"+in, ids...); err != nil {
			return err
		}
	}
	if _, err := exec(ctx, q, "DELETE FROM "+searchTable+" WHERE "+s.say.SearchKey()+in, seqs...); err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM runs WHERE seq"+in, seqs...); err != nil {
		return err
	}
	return addCounts(ctx, q, deltas...)
}

// PurgeEvents implements runs.Purger. It counts runs that had no events too.
func (s *Store) PurgeEvents(ctx context.Context, t time.Time, limit int) (int, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return 0, err
	}
	found, err := doomed(ctx, q, "ended_at IS NOT NULL AND NOT events_purged AND ended_at < ? ORDER BY ended_at, seq LIMIT ?"+
		s.say.ForUpdateSkipLocked(), db.At(t), limit)
	if err != nil {
		return 0, fmt.Errorf("purge events: %w", err)
	}
	for part := range slices.Chunk(found, purgedPerStatement) {
		seqs := make([]any, len(part))
		for i, r := range part {
			seqs[i] = r.Seq
		}
		in := " IN (" + marks(len(part)) + ")"
		if _, err := exec(ctx, q, "DELETE FROM run_events WHERE run_seq"+in, seqs...); err != nil {
			return 0, fmt.Errorf("purge events: %w", err)
		}
		if _, err := exec(ctx, q, "UPDATE runs SET events_purged = TRUE WHERE seq"+in, seqs...); err != nil {
			return 0, fmt.Errorf("purge events: %w", err)
		}
	}
	return len(found), nil
}

// PurgeKeys implements runs.Purger. It deletes a bounded number, the oldest first.
func (s *Store) PurgeKeys(ctx context.Context, before time.Time) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM idempotency_keys WHERE (actor_id, scope, key) IN (SELECT actor_id, scope, key FROM idempotency_keys "+
		"WHERE created_at < ? ORDER BY created_at LIMIT ?)", db.At(before), keysPerPurge); err != nil {
		return fmt.Errorf("purge keys: %w", err)
	}
	if _, err := exec(ctx, q, "DELETE FROM stream_tickets WHERE hash IN (SELECT hash FROM stream_tickets WHERE expires_at <= ? "+
		"ORDER BY expires_at LIMIT ?)", s.say.LeaseNow(), keysPerPurge); err != nil {
		return fmt.Errorf("purge tickets: %w", err)
	}
	return nil
}
