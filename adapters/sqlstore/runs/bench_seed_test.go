package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/runs"
)

// The benchmarks take their size and engine from the environment, and keep a seeded SQLite file in WRIT_BENCH_DIR:
//
//	WRIT_BENCH_RUNS=1000000 WRIT_BENCH_ENGINE=sqlite WRIT_BENCH_DIR=/var/tmp go test -bench . -run - ./adapters/sqlstore/runs
const (
	benchRuns   = "WRIT_BENCH_RUNS"
	benchEngine = "WRIT_BENCH_ENGINE"
	benchDir    = "WRIT_BENCH_DIR"
)

var seedStart = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func size(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv(benchRuns))
	if err != nil || n < 1000 {
		return 20_000
	}
	return n
}

// open returns a store with n runs, changed by the edits. The newest ones are pending.
func open(b *testing.B, name string, n, pending int, edit ...func(i int, r *runs.Run)) *Store {
	b.Helper()
	engine := db.SQLite
	if e := os.Getenv(benchEngine); e != "" {
		engine = db.Engine(e)
	}
	url, seeded := "", false
	if dir := os.Getenv(benchDir); dir != "" && engine == db.SQLite {
		url = filepath.Join(dir, fmt.Sprintf("writ-bench-%s-%d.db", name, n))
		_, err := os.Stat(url)
		seeded = err == nil
	} else {
		url = dbtest.Fresh(b, engine, migrations.FS)
	}
	d := dbtest.Connect(b, db.Config{URL: url, UnitTimeout: time.Hour})
	if err := d.Migrate(b.Context(), migrations.FS); err != nil {
		b.Fatal(err)
	}
	s := New(d)
	if !seeded {
		seed(b, s, n, pending, edit)
	}
	return s
}

func seed(b *testing.B, s *Store, n, pending int, edit []func(int, *runs.Run)) {
	b.Helper()
	const batch = 5000
	for from := 1; from <= n; from += batch {
		err := s.d.Do(b.Context(), func(ctx context.Context) error {
			return seedBatch(ctx, s, from, min(from+batch-1, n), n-pending, edit)
		})
		if err != nil {
			b.Fatalf("seed: %v", err)
		}
	}
	if s.dialect.Engine() == db.Postgres {
		for _, query := range []string{"SELECT setval(pg_get_serial_sequence('runs', 'seq'), max(seq)) FROM runs",
			"ANALYZE"} {
			if _, err := s.d.Read(b.Context()).ExecContext(b.Context(), query); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func seedBatch(ctx context.Context, s *Store, from, to, done int, edit []func(int, *runs.Run)) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	var rows []row
	var labels []runLabel
	var hosts []hostRow
	var counts []countDelta
	for i := from; i <= to; i++ {
		r := seedRun(i, i > done)
		for _, fn := range edit {
			fn(i, r)
		}
		scope, err := s.scopeOf(ctx, q, r)
		if err != nil {
			return err
		}
		w, err := rowOf(r, scope)
		if err != nil {
			return err
		}
		w.Seq = int64(i)
		rows = append(rows, *w)
		for k, v := range r.Labels {
			labels = append(labels, runLabel{RunSeq: w.Seq, Key: k, Value: v, CreatedAt: db.At(r.CreatedAt)})
		}
		hosts = append(hosts, hostRow{
			place:       place{RunSeq: w.Seq, ListedSeq: w.Seq, ListedAt: r.CreatedAt},
			hostColumns: hostColumns{Host: fmt.Sprint("host", i%500), OK: 1, Worst: runs.HostOK}, DurationUS: 1000,
		})
		counts = append(counts, countOf(r, r.Status, 1))
		query, args := s.dialect.SearchPut(searchTable, int64(i), termsOf(searchText(r)...))
		if _, err := db.Exec(ctx, q, query, args...); err != nil {
			return err
		}
	}
	plain := func(q *bun.InsertQuery) *bun.InsertQuery { return q.Returning("NULL") }
	err = upsert(ctx, q, rows, plain)
	if err == nil {
		err = upsert(ctx, q, labels, plain)
	}
	if err == nil {
		err = upsert(ctx, q, hosts, plain)
	}
	if err != nil {
		return err
	}
	return s.addCounts(ctx, counts...)
}

// seedRun returns one of a year's runs: few definitions, many repetitions, and nine in ten succeeded.
func seedRun(i int, pending bool) *runs.Run {
	created := seedStart.Add(time.Duration(i) * 30 * time.Second)
	tools := []string{"ansible", "ansible", "ansible", "bash", "python"}
	names := []string{"deploy web frontend", "patch databases", "rotate certificates", "backup volumes", "compliance scan"}
	sites := []string{"berlin", "osaka", "quito", "lagos", "perth", "lima", "turin"}
	r := &runs.Run{
		ID: fmt.Sprintf("run_%026d", i), Kind: runs.Single, Status: runs.Succeeded,
		Name: fmt.Sprintf("%s %d", names[i%len(names)], i),
		Spec: runs.Spec{Tool: tools[i%len(tools)], Playbook: fmt.Sprintf("playbooks/site%d.yml", i%300),
			InventoryID: "inv_01jabc", ProjectID: "prj_01jabc", Queue: "default"},
		// Most runs name no object with grants.
		Objects:   []string{scopes.DefaultObject},
		Labels:    map[string]string{"env": []string{"prod", "stage"}[i%2], "site": sites[i%len(sites)]},
		Origin:    runs.Origin{Source: runs.FromSchedule, SourceID: fmt.Sprintf("sch_%03d", i%300)},
		Lineage:   fmt.Sprintf("sch_%03d", i%300),
		CreatedAt: created, QueuedAt: created, Revision: 4,
	}
	r.Actor.Type, r.Actor.ID, r.Actor.Name = "user", fmt.Sprintf("usr_%02d", i%40), fmt.Sprintf("user%02d", i%40)
	if pending {
		r.Status = runs.Pending
		return r
	}
	code := 0
	if i%10 == 3 {
		r.Status, code, r.Error = runs.Failed, 2, "2 hosts failed"
	}
	if i%1000 == 7 {
		r.Change = fmt.Sprintf("CHG-%d", i)
	}
	r.ExitCode, r.StartedAt, r.EndedAt = &code, created.Add(time.Second), created.Add(40*time.Second)
	r.Worker, r.Epoch, r.Begun, r.EventCount, r.LogBytes = "worker-1", 1, true, 40, 5000
	r.Hosts, r.HostsTouched, r.LogSHA256 = runs.HostCounts{runs.HostOK: 3}, 3, fmt.Sprintf("%064d", i)
	return r
}
