package identity

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// benchObjects sets how many objects and grants the benchmarks have:
//
//	WRIT_BENCH_OBJECTS=100000 go test -bench . -run - ./adapters/sqlstore/identity
const benchObjects = "WRIT_BENCH_OBJECTS"

func size(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv(benchObjects))
	if err != nil || n < 1000 {
		return 10_000
	}
	return n
}

// measure runs fn for the benchmark's time and reports the duration of single calls and their CPU time, which a busy
// machine affects little.
func measure(b *testing.B, fn func()) {
	b.Helper()
	var took []time.Duration
	var before, after syscall.Rusage
	_ = syscall.Getrusage(0, &before)
	for b.Loop() {
		from := b.Elapsed()
		fn()
		took = append(took, b.Elapsed()-from)
	}
	_ = syscall.Getrusage(0, &after)
	b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1e6/float64(
		len(took)), "ms-cpu")
	slices.Sort(took)
	for _, p := range []int{50, 95} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
	}
}

func eachBench(b *testing.B, fn func(b *testing.B, s *Store, n int)) {
	b.Helper()
	n := size(b)
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			d := dbtest.Connect(b, db.Config{URL: dbtest.Fresh(b, engine, migrations.FS), UnitTimeout: time.Hour})
			s := New(d)
			seed(b, s, n)
			fn(b, s, n)
		})
	}
}

// seed stores n templates and n queues. Every second template is restricted and every fourth is in one of ten
// organizations. There are n grants on templates for a thousand accounts and a hundred teams, on all restricted ones
// for "team:all", and on all queues for "team:queues".
func seed(b *testing.B, s *Store, n int) {
	b.Helper()
	err := s.d.Do(b.Context(), func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		var orgs, objects, grants [][]any
		for i := range 10 {
			orgs = append(orgs, []any{fmt.Sprint("org_", i), fmt.Sprint("org ", i), db.At(time.Unix(0, 0)), "x"})
		}
		grant := func(subject, object string, level access.Level) {
			grants = append(grants, []any{fmt.Sprint("grt_", len(grants)), subject, object, string(level),
				db.At(time.Unix(int64(len(grants)), 0)), "x", false})
		}
		for i := range n {
			id, org := template(i), any(nil)
			if i%4 == 1 || i%4 == 2 {
				org = fmt.Sprint("org_", i/4%10)
			}
			objects = append(objects, []any{id, "template", org, i%2 == 0, false},
				[]any{access.Queue(id), "queue", nil, true, false})
			if i%2 == 0 {
				grant("team:all", id, access.Read)
				grant(fmt.Sprint("user:", i/2%1000), id, access.Use)
				grant(fmt.Sprint("team:", i/2%100), id, access.Use)
			}
			grant("team:queues", access.Queue(id), access.Use)
		}
		if err := insert(ctx, q, "orgs (id, name, created_at, created_by)", orgs); err != nil {
			return err
		}
		if err := insert(ctx, q, "access_objects (id, kind, org_id, restricted, gone)", objects); err != nil {
			return err
		}
		return insert(ctx, q, "grants (id, subject, object, level, created_at, created_by, hidden)", grants)
	})
	if err == nil && s.d.Engine() == db.Postgres {
		_, err = s.d.Read(b.Context()).ExecContext(b.Context(), "VACUUM ANALYZE")
	}
	if err != nil {
		b.Fatalf("seed: %v", err)
	}
}

func template(i int) string { return fmt.Sprintf("tpl_%026x", uint64(i)*0x9e3779b97f4a7c15) }

func insert(ctx context.Context, q bun.IDB, into string, rows [][]any) error {
	for part := range slices.Chunk(rows, 500) {
		tuple := "(" + strings.Repeat("?, ", len(part[0])-1) + "?)"
		args := slices.Concat(part...)
		if _, err := db.Exec(ctx, q, "INSERT INTO "+into+" VALUES "+strings.Repeat(tuple+", ", len(part)-1)+tuple,
			args...); err != nil {
			return err
		}
	}
	return nil
}

// scopes returns the measured readers by name.
func scopes() map[string]access.Scope {
	viewer := []string{"user:7", "team:3", "team:4", "team:5"}
	return map[string]access.Scope{
		"everything":              access.Everything(),
		"nobody":                  {},
		"viewer":                  {Subjects: viewer},
		"viewer strict":           {Subjects: viewer, Strict: true},
		"org admin":               {Subjects: viewer, Orgs: []string{"org_1"}},
		"org admin strict":        {Subjects: viewer, Orgs: []string{"org_1"}, Strict: true},
		"admin of all orgs":       {Subjects: viewer, Orgs: orgs(10)},
		"granted all":             {Subjects: append([]string{"team:all"}, viewer...)},
		"granted all, one team":   {Subjects: []string{"team:all"}, Strict: true},
		"granted all, org admin":  {Subjects: append([]string{"team:all"}, viewer...), Orgs: []string{"org_1"}},
		"granted all, many teams": {Subjects: append(teams(90), "team:all")},
	}
}

func orgs(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("org_", i))
	}
	return out
}

func teams(n int) (out []string) {
	for i := range n {
		out = append(out, identity.TeamSubject(fmt.Sprint(i)))
	}
	return out
}

func BenchmarkReadable(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store, n int) {
		run := func(name, kind string, sc access.Scope, w page.Window) {
			b.Run(name, func(b *testing.B) {
				total := 0
				measure(b, func() {
					_, found, err := s.Readable(b.Context(), kind, sc, w)
					if err != nil {
						b.Fatal(err)
					}
					total = found
				})
				b.ReportMetric(float64(total), "objects")
			})
		}
		for name, sc := range scopes() {
			run(name, identity.KindTemplate, sc, page.Window{Limit: 200})
		}
		run("viewer deep", identity.KindTemplate, scopes()["viewer"], page.Window{Offset: n / 2, Limit: 200})
		run("queues", identity.KindQueue, scopes()["viewer"], page.Window{Limit: 200})
		run("queues granted", identity.KindQueue, access.Scope{Subjects: []string{"team:queues"}}, page.Window{Limit: 200})
	})
}

func BenchmarkLoadRights(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store, _ int) {
		measure(b, func() {
			r, err := s.LoadRights(b.Context())
			if err != nil || len(r.Objects) == 0 {
				b.Fatal(len(r.Objects), err)
			}
		})
	})
}
