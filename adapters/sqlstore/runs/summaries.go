package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// meanWindow is the number of runs in the moving mean of a host's duration. Each new run has the weight 1/meanWindow.
const meanWindow = 10

// rowsPerInsert bounds one statement's text.
const rowsPerInsert = 200

// place is the run of some summaries, and the listed run under which they are found.
type place struct {
	RunSeq    int64     `bun:",pk"`
	ListedSeq int64     `bun:",skipupdate"`
	ListedAt  time.Time `bun:",skipupdate"`
}

type hostRow struct {
	bun.BaseModel `bun:"table:run_hosts,alias:h"`
	place
	hostColumns
	DurationUS int64 `bun:"duration_us"`
}

// hostColumns is a runs.HostSummary with the names of its columns.
type hostColumns struct {
	Host        string `bun:",pk"`
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

type taskRow struct {
	bun.BaseModel `bun:"table:run_tasks,alias:t"`
	place
	taskColumns
	DurationUS int64 `bun:"duration_us"`
	MeanUS     int64 `bun:"mean_us"`
	MaxUS      int64 `bun:"max_us"`
}

// taskColumns is a runs.TaskSummary with the names of its columns.
type taskColumns struct {
	Index    int `bun:"position,pk"`
	TaskID   string
	Play     string
	Task     string
	OK       int `bun:"ok"`
	Changed  int
	Failed   int
	Skipped  int
	Hosts    int
	Duration time.Duration `bun:"-"`
	Mean     time.Duration `bun:"-"`
	Max      time.Duration `bun:"-"`
}

type timing struct {
	bun.BaseModel `bun:"table:host_timings,alias:m"`
	Lineage       string `bun:",pk"`
	Host          string `bun:",pk"`
	Runs          int
	MeanUS        int64 `bun:"mean_us"`
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// upsert stores rows with few statements, in place of those with the same keys.
func upsert[T any](ctx context.Context, q bun.IDB, rows []T, on func(*bun.InsertQuery) *bun.InsertQuery) error {
	for part := range slices.Chunk(rows, rowsPerInsert) {
		if _, err := db.Modify(ctx, on(q.NewInsert().Model(&part))); err != nil {
			return err
		}
	}
	return nil
}

// placeOf returns the place of a run's summaries, and its lineage.
func (s *Store) placeOf(ctx context.Context, q bun.IDB, runID string) (p place, lineage string, err error) {
	var found struct {
		place
		Lineage string
	}
	ok, err := db.First(ctx, q.NewSelect().TableExpr("runs AS r").
		ColumnExpr("r.seq AS run_seq, r.lineage, coalesce(p.seq, r.seq) AS listed_seq, coalesce(p.created_at, "+
			"r.created_at) AS listed_at").
		Join("LEFT JOIN runs AS p ON p.id = r.parent_id").Where("r.id = ?", runID), &found)
	if err == nil && !ok {
		err = notFound(runID)
	}
	return found.place, found.Lineage, err
}

// SaveHosts replaces a host that was saved before, and counts it once in the means. It returns RunNotFound for an
// unknown run.
func (s *Store) SaveHosts(ctx context.Context, runID string, hosts []runs.HostSummary) error {
	q := s.d.InUnit(ctx)
	p, lineage, err := s.placeOf(ctx, q, runID)
	if err != nil {
		return err
	}
	var known []string
	if err := q.NewSelect().Model((*hostRow)(nil)).Column("host").Where("h.run_seq = ?", p.RunSeq).
		OrderExpr("h.host").Scan(ctx, &known); err != nil {
		return db.Wrap(err, "read the hosts of run %s", runID)
	}
	slices.Sort(known)
	var rows []hostRow
	var timings []timing
	for _, h := range newestByKey(hosts, func(h runs.HostSummary) string { return clean(h.Host) }) {
		h.Host = clean(h.Host)
		rows = append(rows, hostRow{place: p, hostColumns: hostColumns(h), DurationUS: h.Duration.Microseconds()})
		if _, ok := slices.BinarySearch(known, h.Host); !ok && lineage != "" && h.Duration > 0 {
			timings = append(timings, timing{Lineage: lineage, Host: h.Host, Runs: 1, MeanUS: h.Duration.Microseconds()})
		}
	}
	err = upsert(ctx, q, rows, func(q *bun.InsertQuery) *bun.InsertQuery {
		return q.On("CONFLICT (run_seq, host) DO UPDATE")
	})
	if err != nil {
		return fmt.Errorf("save the hosts of run %s: %w", runID, err)
	}
	err = upsert(ctx, q, timings, func(q *bun.InsertQuery) *bun.InsertQuery {
		return q.On("CONFLICT (lineage, host) DO UPDATE").Set("runs = m.runs + 1").
			Set("mean_us = m.mean_us + (EXCLUDED.mean_us - m.mean_us) / (CASE WHEN m.runs < ? THEN m.runs + 1 ELSE ? END)",
				meanWindow, meanWindow)
	})
	return db.Wrap(err, "save the hosts' means")
}

// newestByKey sorts by key and keeps the last of equal ones, since one statement must not change a row twice.
func newestByKey[T any, K cmp.Ordered](list []T, key func(T) K) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return slices.CompactFunc(list, func(a, b T) bool { return key(a) == key(b) })
}

// SaveTasks returns RunNotFound for an unknown run.
func (s *Store) SaveTasks(ctx context.Context, runID string, tasks []runs.TaskSummary) error {
	q := s.d.InUnit(ctx)
	p, _, err := s.placeOf(ctx, q, runID)
	if err != nil {
		return err
	}
	var rows []taskRow
	for _, t := range newestByKey(tasks, func(t runs.TaskSummary) int { return t.Index }) {
		t.TaskID, t.Play, t.Task = clean(t.TaskID), clean(t.Play), clean(t.Task)
		rows = append(rows, taskRow{
			place: p, taskColumns: taskColumns(t),
			DurationUS: t.Duration.Microseconds(), MeanUS: t.Mean.Microseconds(), MaxUS: t.Max.Microseconds(),
		})
	}
	err = upsert(ctx, q, rows, func(q *bun.InsertQuery) *bun.InsertQuery {
		return q.
			On("CONFLICT (run_seq, position) DO UPDATE")
	})
	return db.Wrap(err, "save the tasks of run %s", runID)
}

// Hosts sorts them by name.
func (s *Store) Hosts(ctx context.Context, runID string) ([]runs.HostSummary, error) {
	q, rows := s.d.Read(ctx), []hostRow(nil)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return nil, err
	}
	if err := q.NewSelect().Model(&rows).Where("h.run_seq = ?", seq).Scan(ctx); err != nil {
		return nil, db.Wrap(err, "read the hosts of run %s", runID)
	}
	var out []runs.HostSummary
	for _, r := range rows {
		h := runs.HostSummary(r.hostColumns)
		h.Duration = micros(r.DurationUS)
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b runs.HostSummary) int { return strings.Compare(a.Host, b.Host) })
	return out, nil
}

// Tasks sorts them by index.
func (s *Store) Tasks(ctx context.Context, runID string) ([]runs.TaskSummary, error) {
	q, rows := s.d.Read(ctx), []taskRow(nil)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return nil, err
	}
	if err := q.NewSelect().Model(&rows).Where("t.run_seq = ?", seq).OrderExpr("t.position").Scan(ctx); err != nil {
		return nil, db.Wrap(err, "read the tasks of run %s", runID)
	}
	var out []runs.TaskSummary
	for _, r := range rows {
		t := runs.TaskSummary(r.taskColumns)
		t.Duration, t.Mean, t.Max = micros(r.DurationUS), micros(r.MeanUS), micros(r.MaxUS)
		out = append(out, t)
	}
	return out, nil
}
