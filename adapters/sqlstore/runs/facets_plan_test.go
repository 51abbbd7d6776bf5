package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// TestFacetsReadABoundedNumberOfRuns checks the plans among 100,000 runs.
func TestFacetsReadABoundedNumberOfRuns(t *testing.T) {
	t.Parallel()
	const total, most = 100_000, 1000
	for _, engine := range []db.Engine{db.SQLite, db.Postgres} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations.FS), UnitTimeout: time.Minute})
			s := sqlruns.New(d).CountUpTo(most)
			at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			r := &runs.Run{ID: "run_1", Kind: runs.Single, Status: runs.Pending, CreatedAt: at, QueuedAt: at,
				Spec: runs.Spec{Tool: "bash", Command: "true", Queue: "default"}, Origin: runs.Origin{Source: runs.FromAPI}}
			if err := d.Do(t.Context(), func(ctx context.Context) error { return s.Insert(ctx, r) }); err != nil {
				t.Fatal(err)
			}
			if err := copier(d)(t.Context(), r.ID, total); err != nil {
				t.Fatal(err)
			}
			spread := map[db.Engine][]string{
				db.SQLite: {"UPDATE runs SET created_at = strftime('%Y-%m-%dT%H:%M:%S', " +
					"created_at, seq || ' seconds') || '.000000Z'"},
				db.Postgres: {"UPDATE runs SET created_at = created_at + seq * interval '1 second'", "ANALYZE runs"},
			}
			for _, query := range spread[engine] {
				if err := d.Do(t.Context(), func(ctx context.Context) error {
					_, err := db.Exec(ctx, d.InUnit(ctx), query)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			for what, f := range map[string]runs.Filter{"all": {}, "status": {Statuses: []runs.Status{runs.Pending}},
				"tool": {Tool: "bash"}, "queue": {Queue: "default"}, "rare": {Tool: "bash", Actor: "nobody"},
				"label": {Labels: map[string]string{"a": "b"}}, "sources": {Sources: []runs.Source{runs.FromAPI, runs.FromRerun}},
				"since": {After: at.Add(-time.Hour)}, "both": {Statuses: []runs.Status{runs.Pending}, Tool: "bash"}} {
				f.Scope = access.Everything()
				texts, args, err := s.FacetQueries(t.Context(), "status", f)
				if err != nil {
					t.Fatal(err)
				}
				for i := range texts {
					bounded(t, d, what, 4*most, texts[i], args[i])
				}
			}
		})
	}
}

// bounded checks that no part of a statement reads more rows. On SQLite it checks that each part walks an index in the
// order of the limit.
func bounded(t *testing.T, d *db.DB, what string, most float64, query string, args []any) {
	t.Helper()
	if d.Engine() == db.Postgres {
		raw, _, err := db.QueryRow[string](t.Context(), d.Read(t.Context()), "EXPLAIN (ANALYZE, FORMAT JSON) "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan any
		if err := json.Unmarshal([]byte(raw), &plan); err != nil {
			t.Fatal(err)
		}
		if n := mostRows(plan); n > most {
			t.Errorf("%s reads %.0f rows: %s", what, n, raw)
		}
		return
	}
	lines, err := db.Query[struct {
		ID, Parent, Notused int
		Detail              string
	}](t.Context(), d.Read(t.Context()), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	sorts := map[int]bool{}
	for _, l := range lines {
		sorts[l.Parent] = sorts[l.Parent] || strings.Contains(l.Detail, "TEMP B-TREE FOR ORDER BY")
	}
	for _, l := range lines {
		ofRuns := strings.HasPrefix(l.Detail, "SCAN r") || strings.HasPrefix(l.Detail, "SEARCH r ")
		if ofRuns && (sorts[l.Parent] || !strings.Contains(l.Detail, "INDEX") && !strings.Contains(l.Detail, "PRIMARY KEY")) {
			t.Errorf("%s: %s", what, fmt.Sprint(lines))
		}
	}
}

// mostRows returns the greatest number of rows that a part of a plan produced or dropped.
func mostRows(v any) (most float64) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			most = max(most, mostRows(x))
		}
	case map[string]any:
		rows, _ := v["Actual Rows"].(float64)
		removed, _ := v["Rows Removed by Filter"].(float64)
		loops, _ := v["Actual Loops"].(float64)
		most = (rows + removed) * loops
		for _, x := range v {
			most = max(most, mostRows(x))
		}
	}
	return most
}
