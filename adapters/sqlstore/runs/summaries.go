package runs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// meanWindow is over how many of its latest runs a host's mean duration is taken: each new run moves the mean by
// its share of the window.
const meanWindow = 10

// place says where a run's summaries belong and under which run of the list they are found.
type place struct {
	seq, listedSeq int64
	listedAt       db.Time
	lineage        text
}

func (s *Store) placeOf(ctx context.Context, q bun.IDB, runID string) (place, error) {
	var p place
	err := q.QueryRowContext(ctx, "SELECT r.seq, r.lineage, coalesce(p.seq, r.seq), coalesce(p.created_at, r.created_at) "+
		"FROM runs AS r LEFT JOIN runs AS p ON p.id = r.parent_id WHERE r.id = ?", runID).
		Scan(&p.seq, &p.lineage, &p.listedSeq, &p.listedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return p, notFound(runID)
	}
	return p, db.Translate(err)
}

// SaveHosts implements runs.SummaryStore. A host saved before is replaced and counts once in the means. RunNotFound.
func (s *Store) SaveHosts(ctx context.Context, runID string, hosts []runs.HostSummary) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	p, err := s.placeOf(ctx, q, runID)
	if err != nil {
		return err
	}
	hosts = newestByKey(hosts, func(h runs.HostSummary) string { return clean(h.Host) })
	known, err := knownHosts(ctx, q, p.seq)
	if err != nil {
		return err
	}
	var rows, timings [][]any
	for _, h := range hosts {
		host := clean(h.Host)
		rows = append(rows, []any{
			p.seq, host, p.listedAt, p.listedSeq, h.OK, h.Changed, h.Failed, h.Unreachable, h.Skipped, h.Rescued, h.Ignored,
			string(h.Worst), h.Duration.Microseconds(),
		})
		if p.lineage != "" && h.Duration > 0 && !known[host] {
			timings = append(timings, []any{string(p.lineage), host, 1, h.Duration.Microseconds()})
		}
	}
	err = insertRows(ctx, q, "INSERT INTO run_hosts (run_seq, host, listed_at, listed_seq, ok, changed, failed, unreachable, skipped, "+
		"rescued, ignored, worst, duration_us) VALUES ", " ON CONFLICT (run_seq, host) DO UPDATE SET ok = excluded.ok, "+
		"changed = excluded.changed, failed = excluded.failed, unreachable = excluded.unreachable, skipped = excluded.skipped, "+
		"rescued = excluded.rescued, ignored = excluded.ignored, worst = excluded.worst, duration_us = excluded.duration_us", rows)
	if err != nil {
		return fmt.Errorf("save the hosts of run %s: %w", runID, err)
	}
	return addTimings(ctx, q, timings)
}

// newestByKey sorts by key and keeps the last of those that share one: one statement must not meet a row twice.
func newestByKey[T any, K cmp.Ordered](list []T, key func(T) K) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return slices.CompactFunc(list, func(a, b T) bool { return key(a) == key(b) })
}

func knownHosts(ctx context.Context, q bun.IDB, seq int64) (map[string]bool, error) {
	rows, err := q.QueryContext(ctx, "SELECT host FROM run_hosts WHERE run_seq = ?", seq)
	if err != nil {
		return nil, db.Translate(err)
	}
	known := map[string]bool{}
	for rows.Next() {
		var host string
		if err = rows.Scan(&host); err != nil {
			break
		}
		known[host] = true
	}
	return known, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

func addTimings(ctx context.Context, q bun.IDB, rows [][]any) error {
	share := fmt.Sprintf("CASE WHEN host_timings.runs < %d THEN host_timings.runs + 1 ELSE %d END", meanWindow, meanWindow)
	err := insertRows(ctx, q, "INSERT INTO host_timings (lineage, host, runs, mean_us) VALUES ",
		" ON CONFLICT (lineage, host) DO UPDATE SET runs = host_timings.runs + 1, "+
			"mean_us = host_timings.mean_us + (excluded.mean_us - host_timings.mean_us) / ("+share+")", rows)
	if err != nil {
		return fmt.Errorf("save the hosts' means: %w", err)
	}
	return nil
}

// SaveTasks implements runs.SummaryStore. RunNotFound.
func (s *Store) SaveTasks(ctx context.Context, runID string, tasks []runs.TaskSummary) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	p, err := s.placeOf(ctx, q, runID)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, t := range newestByKey(tasks, func(t runs.TaskSummary) int { return t.Index }) {
		rows = append(rows, []any{
			p.seq, t.Index, clean(t.TaskID), clean(t.Play), clean(t.Task), p.listedAt, p.listedSeq, t.OK, t.Changed, t.Failed,
			t.Skipped, t.Hosts, t.Duration.Microseconds(), t.Mean.Microseconds(), t.Max.Microseconds(),
		})
	}
	err = insertRows(ctx, q, "INSERT INTO run_tasks (run_seq, position, task_id, play, task, listed_at, listed_seq, ok, changed, failed, "+
		"skipped, hosts, duration_us, mean_us, max_us) VALUES ", " ON CONFLICT (run_seq, position) DO UPDATE SET "+
		"task_id = excluded.task_id, play = excluded.play, task = excluded.task, ok = excluded.ok, changed = excluded.changed, "+
		"failed = excluded.failed, skipped = excluded.skipped, hosts = excluded.hosts, duration_us = excluded.duration_us, "+
		"mean_us = excluded.mean_us, max_us = excluded.max_us", rows)
	if err != nil {
		return fmt.Errorf("save the tasks of run %s: %w", runID, err)
	}
	return nil
}

// SaveFacts implements runs.SummaryStore. Facts outlive their run. RunNotFound.
func (s *Store) SaveFacts(ctx context.Context, runID string, facts []runs.HostFacts) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return err
	}
	facts = newestByKey(facts, func(f runs.HostFacts) string {
		return clean(f.Host) + "\x00" + db.Cut(f.GatheredAt).Format(time.RFC3339Nano)
	})
	for _, f := range facts {
		codec, data := s.codec.Pack(f.Facts)
		_, err := exec(ctx, q, "INSERT INTO run_facts (host, gathered_at, run_seq, run_id, codec, facts) VALUES (?, ?, ?, ?, ?, ?) "+
			"ON CONFLICT (host, gathered_at, run_seq) DO UPDATE SET codec = excluded.codec, facts = excluded.facts",
			clean(f.Host), db.At(f.GatheredAt), seq, runID, codec, data)
		if err != nil {
			return fmt.Errorf("save the facts of %s: %w", f.Host, err)
		}
	}
	return nil
}

// Hosts implements runs.SummaryStore. They are in the order of their names.
func (s *Store) Hosts(ctx context.Context, runID string) ([]runs.HostSummary, error) {
	q := s.d.Read(ctx)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT host, ok, changed, failed, unreachable, skipped, rescued, ignored, worst, duration_us "+
		"FROM run_hosts WHERE run_seq = ?", seq)
	if err != nil {
		return nil, db.Translate(fmt.Errorf("read the hosts of run %s: %w", runID, err))
	}
	var out []runs.HostSummary
	for rows.Next() {
		var h runs.HostSummary
		var us int64
		if err = rows.Scan(&h.Host, &h.OK, &h.Changed, &h.Failed, &h.Unreachable, &h.Skipped, &h.Rescued, &h.Ignored, &h.Worst, &us); err != nil {
			break
		}
		h.Duration = time.Duration(us) * time.Microsecond
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b runs.HostSummary) int { return strings.Compare(a.Host, b.Host) })
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// Tasks implements runs.SummaryStore. They are in the order of their index.
func (s *Store) Tasks(ctx context.Context, runID string) ([]runs.TaskSummary, error) {
	q := s.d.Read(ctx)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT position, task_id, play, task, ok, changed, failed, skipped, hosts, duration_us, mean_us, max_us "+
		"FROM run_tasks WHERE run_seq = ? ORDER BY position", seq)
	if err != nil {
		return nil, db.Translate(fmt.Errorf("read the tasks of run %s: %w", runID, err))
	}
	var out []runs.TaskSummary
	for rows.Next() {
		var t runs.TaskSummary
		var took, mean, longest int64
		if err = rows.Scan(&t.Index, &t.TaskID, &t.Play, &t.Task, &t.OK, &t.Changed, &t.Failed, &t.Skipped, &t.Hosts, &took, &mean, &longest); err != nil {
			break
		}
		t.Duration, t.Mean, t.Max = time.Duration(took)*time.Microsecond, time.Duration(mean)*time.Microsecond, time.Duration(longest)*time.Microsecond
		out = append(out, t)
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}
