package estate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

var _ estate.FleetStore = (*Store)(nil)

// fleetLock is the name of the lock under which results are written, so that reports of several servers with common
// hosts do not wait for each other in a circle.
const fleetLock = "estate results"

// firstFailure is the number of HostFailed. The outcomes after it are failures too.
const firstFailure = 5

// outcomes are the outcomes in the order of their numbers in rings, which never changes.
func outcomes() []runs.Outcome {
	return []runs.Outcome{runs.HostSkipped, runs.HostOK, runs.HostChanged, runs.HostIgnored, runs.HostRescued,
		runs.HostFailed, runs.HostUnreachable, runs.HostIncomplete}
}

// resultRow is the result of a run on a host.
type resultRow struct {
	bun.BaseModel `bun:"table:estate_results,alias:x"`
	HostID        int64 `bun:",pk"`
	EndedUS       int64 `bun:"ended_us,pk"`
	RunNo         int64 `bun:",pk"`
	resultColumns
	DurationUS int64 `bun:"duration_us"`
}

// resultColumns is a runs.HostSummary with the names of its columns.
type resultColumns struct {
	Host        string `bun:"-"`
	OK          int    `bun:"ok"`
	Changed     int
	Failed      int
	Unreachable int
	Skipped     int
	Rescued     int
	Ignored     int
	Worst       runs.Outcome
	Duration    time.Duration `bun:"-"`
}

func (s *Store) Report(ctx context.Context, r estate.RunReport) error {
	if r.Run.EndedAt.IsZero() {
		return fmt.Errorf("run %s has not ended", r.Run.ID)
	}
	q := s.d.InUnit(ctx)
	if err := s.dialect.LockNames(ctx, q, fleetLock); err != nil {
		return err
	}
	hosts := make(map[string]runs.HostSummary, len(r.Hosts))
	for _, h := range r.Hosts {
		hosts[clean(h.Host)] = h
	}
	ids, err := s.hostIDs(ctx, q, slices.Collect(maps.Keys(hosts)))
	if err != nil {
		return err
	}
	w := r.Run
	of, err := s.runID(ctx, q, run{RunID: w.ID, Name: w.Name, Status: string(w.Status), Tool: w.Spec.Tool,
		Playbook: w.Spec.Playbook, TemplateID: w.Spec.TemplateID, InventoryID: w.Spec.InventoryID, DryRun: w.Spec.DryRun,
		EndedAt: w.EndedAt}, w.Objects)
	if err != nil {
		return err
	}
	stored := run{ID: of.id}
	n, err := db.Modify(ctx, q.NewUpdate().Model(&stored).Set("named = coalesce(named, 0) + ?", len(hosts)).
		Set("reported = ?", r.First+len(r.Hosts)).WherePK().
		Where("reported = ? OR reported IS NULL AND ? = 0", r.First, r.First).Returning("scope_id"))
	if err != nil || n == 0 {
		return db.Wrap(err, "begin the results of run %s", w.ID)
	}
	at := entry{ended: w.EndedAt.UnixMicro(), run: of.id}
	if err = s.reportHosts(ctx, q, at, stored.ScopeID, hosts, ids); err == nil {
		err = s.reportTasks(ctx, q, at, stored.ScopeID, r.Tasks)
	}
	return db.Wrap(err, "store the results of run %s", w.ID)
}

// reportHosts stores a new result of each host.
func (s *Store) reportHosts(
	ctx context.Context, q bun.IDB, at entry, scope int64, hosts map[string]runs.HostSummary, ids map[string]int64,
) error {
	rows, entries := make([]resultRow, 0, len(hosts)), make(map[int64]entry, len(hosts))
	byOutcome := map[runs.Outcome][]int64{}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h, id := hosts[name], ids[name]
		rows = append(rows, resultRow{HostID: id, EndedUS: at.ended, RunNo: at.run, resultColumns: resultColumns(h),
			DurationUS: h.Duration.Microseconds()})
		value := slices.Index(outcomes(), h.Worst)
		if value < 0 {
			return fmt.Errorf("a host has the unknown outcome %q", h.Worst)
		}
		entries[id] = entry{at.ended, at.run, int64(value)}
		byOutcome[h.Worst] = append(byOutcome[h.Worst], id)
	}
	for part := range slices.Chunk(rows, namesPerStatement) {
		if _, err := db.Modify(ctx, q.NewInsert().Model(&part)); err != nil {
			return err
		}
	}
	if err := s.push(ctx, q, ofHost, scope, entries); err != nil {
		return err
	}
	return countOutcomes(ctx, q, at.ended, byOutcome)
}

// countOutcomes stores the outcomes of hosts for which no run that ended later is known, and how many hosts have each.
func countOutcomes(ctx context.Context, q bun.IDB, ended int64, hosts map[runs.Outcome][]int64) error {
	counts := map[runs.Outcome]int64{}
	for o, all := range hosts {
		for ids := range slices.Chunk(all, namesPerStatement) {
			var was []outcomeRow
			if err := q.NewSelect().Model((*host)(nil)).ColumnExpr("coalesce(h.outcome, '') AS outcome, count(*) AS n").
				Where("h.id IN (?) AND (h.ended_us IS NULL OR h.ended_us <= ?)", bun.In(ids), ended).
				GroupExpr("coalesce(h.outcome, '')").Scan(ctx, &was); err != nil {
				return db.Translate(err)
			}
			for _, x := range was {
				counts[x.Outcome] -= x.N
				counts[o] += x.N
			}
			if _, err := db.Modify(ctx, q.NewUpdate().Model((*host)(nil)).Set("results = results + 1").
				Set("outcome = CASE WHEN ended_us > ? THEN outcome ELSE ? END", ended, o).
				Set("ended_us = CASE WHEN ended_us > ? THEN ended_us ELSE ? END", ended, ended).
				Where("id IN (?)", bun.In(ids))); err != nil {
				return err
			}
		}
	}
	delete(counts, "")
	var rows []outcomeRow
	for o, n := range counts {
		rows = append(rows, outcomeRow{Outcome: o, N: n})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := db.Modify(ctx, q.NewInsert().Model(&rows).On("CONFLICT (outcome) DO UPDATE").Set("n = c.n + EXCLUDED.n"))
	return err
}

type outcomeRow struct {
	bun.BaseModel `bun:"table:estate_outcomes,alias:c"`
	Outcome       runs.Outcome `bun:",pk"`
	N             int64
}

func (s *Store) Outcomes(ctx context.Context) (map[runs.Outcome]int64, error) {
	var rows []outcomeRow
	err := s.d.Read(ctx).NewSelect().Model(&rows).Scan(ctx)
	out := make(map[runs.Outcome]int64, len(rows))
	for _, x := range rows {
		out[x.Outcome] = x.N
	}
	return out, db.Wrap(err, "count hosts")
}

type task struct {
	bun.BaseModel `bun:"table:estate_tasks,alias:t"`
	ID            int64 `bun:",pk,autoincrement"`
	Name          string
	SeenUS        int64 `bun:"seen_us"`
}

// reportTasks stores a new result of each task. Tasks of one name are one.
func (s *Store) reportTasks(ctx context.Context, q bun.IDB, at entry, scope int64, list []runs.TaskSummary) error {
	durations := map[string]time.Duration{}
	for _, t := range list {
		name := clean(t.Task)
		if _, known := durations[name]; name != "" && (known || len(durations) < estate.MaxTasks) {
			durations[name] += t.Duration
		}
	}
	entries := make(map[int64]entry, len(durations))
	for part := range slices.Chunk(slices.Sorted(maps.Keys(durations)), namesPerStatement) {
		rows := make([]task, len(part))
		for i, name := range part {
			rows[i] = task{Name: name, SeenUS: at.ended}
		}
		if _, err := db.Modify(ctx, q.NewInsert().Model(&rows).On("CONFLICT (name) DO UPDATE").
			Set("seen_us = CASE WHEN t.seen_us > EXCLUDED.seen_us THEN t.seen_us ELSE EXCLUDED.seen_us END").
			Returning("id, name")); err != nil {
			return err
		}
		for _, r := range rows {
			entries[r.ID] = entry{at.ended, at.run, durations[r.Name].Milliseconds()}
		}
	}
	if err := s.push(ctx, q, ofTask, scope, entries); err != nil || len(entries) == 0 {
		return err
	}
	return forgetTasks(ctx, q)
}

// forgetTasks deletes the tasks beyond the bound, those that were not seen for the longest time.
func forgetTasks(ctx context.Context, q bun.IDB) error {
	var old []int64
	if err := q.NewSelect().Model((*task)(nil)).Column("id").OrderExpr("t.seen_us DESC, t.id DESC").
		Limit(estate.MaxTasks).Offset(estate.MaxTasks).Scan(ctx, &old); err != nil || len(old) == 0 {
		return db.Translate(err)
	}
	if _, err := db.Modify(ctx, q.NewDelete().Model((*ringRow)(nil)).Where("kind = ? AND subject_id IN (?)", ofTask,
		bun.In(old))); err != nil {
		return err
	}
	_, err := db.Modify(ctx, q.NewDelete().Model((*task)(nil)).Where("id IN (?)", bun.In(old)))
	return err
}

func (s *Store) Trim(ctx context.Context, keep, limit int) (int, error) {
	q := s.d.InUnit(ctx)
	if err := s.dialect.LockNames(ctx, q, fleetLock); err != nil {
		return 0, err
	}
	var hosts []struct{ ID, N int64 }
	if err := q.NewSelect().Model((*host)(nil)).Column("id").ColumnExpr("h.results - ? AS n", keep).
		Where("h.results > ?", keep).OrderExpr("h.name").Apply(db.AtMost(limit)).Scan(ctx, &hosts); err != nil {
		return 0, db.Wrap(err, "trim results")
	}
	deleted, unnamed := 0, map[int64]int{}
	for _, h := range hosts {
		n := min(int(h.N), limit-deleted)
		if n == 0 {
			break
		}
		if err := s.trimHost(ctx, q, h.ID, n, unnamed); err != nil {
			return 0, db.Wrap(err, "trim results")
		}
		deleted += n
	}
	byCount := map[int][]int64{}
	for no, n := range unnamed {
		byCount[n] = append(byCount[n], no)
	}
	for n, nos := range byCount {
		if _, err := db.Modify(ctx, q.NewUpdate().Model((*run)(nil)).Set("named = named - ?", n).
			Where("id IN (?)", bun.In(nos))); err != nil {
			return 0, fmt.Errorf("trim results: %w", err)
		}
	}
	gone, err := s.forgetRuns(ctx, q, limit)
	return deleted + gone, err
}

// redelivered is how long the event of a run may be delivered again. Its run is kept that long, so that it is known.
const redelivered = 24 * time.Hour

// forgetRuns deletes runs that no row names. What names a run counts itself in it; NULL is not counted yet.
func (s *Store) forgetRuns(ctx context.Context, q bun.IDB, limit int) (int, error) {
	unnamed := q.NewSelect().Model((*run)(nil)).Column("id").Where("r.named = 0 AND r.ended_at < ?",
		s.dialect.WallNow().Add(-redelivered)).OrderExpr("r.ended_at").Apply(db.AtMost(limit))
	n, err := db.Modify(ctx, q.NewDelete().Model((*run)(nil)).Where("id IN (?)", unnamed))
	return int(n), db.Wrap(err, "forget runs")
}

// trimHost deletes the n oldest results of a host, also from its rings, and counts them by run.
func (s *Store) trimHost(ctx context.Context, q bun.IDB, id int64, n int, unnamed map[int64]int) error {
	var old []resultRow
	if err := q.NewSelect().Model(&old).Column("ended_us", "run_no").Where("x.host_id = ?", id).
		OrderExpr("x.ended_us, x.run_no").Limit(int64(n)).Scan(ctx); err != nil || len(old) == 0 {
		return err
	}
	for _, x := range old {
		unnamed[x.RunNo]++
	}
	last := entry{ended: old[len(old)-1].EndedUS, run: old[len(old)-1].RunNo}
	if _, err := db.Modify(ctx, q.NewDelete().Model((*resultRow)(nil)).
		Where("host_id = ? AND (ended_us, run_no) <= (?, ?)", id, last.ended, last.run)); err != nil {
		return err
	}
	if _, err := db.Modify(ctx, q.NewUpdate().Model((*host)(nil)).Set("results = results - ?", len(old)).
		Where("id = ?", id)); err != nil {
		return err
	}
	return s.trimRings(ctx, q, id, last)
}

// trimRings deletes what is not newer than a result from the rings of a host.
func (s *Store) trimRings(ctx context.Context, q bun.IDB, id int64, last entry) error {
	var rings []ringRow
	if err := q.NewSelect().Model(&rings).Where("kind = ? AND subject_id = ?", ofHost, id).Scan(ctx); err != nil {
		return err
	}
	for _, r := range rings {
		list, err := unpackRing(nil, r.Ring, estate.MaxWindow)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return newer(last, e) <= 0 })
		switch {
		case len(kept) == len(list):
			continue
		case len(kept) == 0:
			_, err = db.Modify(ctx, q.NewDelete().Model(&r).WherePK())
		default:
			r.Ring = packRing(kept)
			_, err = db.Modify(ctx, q.NewUpdate().Model(&r).WherePK())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
