package runs_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// before returns the migrations from before the named one.
func before(t *testing.T, migration string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for _, e := range dbtest.Engines() {
		names, err := fs.Glob(migrations.FS, string(e)+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names[:slices.Index(names, string(e)+"/"+migration+".up.sql")] {
			text, err := fs.ReadFile(migrations.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = &fstest.MapFile{Data: text}
		}
	}
	return out
}

const oldRun = "INSERT INTO runs (id, kind, status, queue, parent_id, shard_index, priority, claimable, created_at, " +
	"epoch, begun, cancel_requested, event_count, log_bytes, log_omitted, revision) VALUES (?, ?, 'succeeded', ?, ?, ?, " +
	"0, TRUE, ?, 0, FALSE, FALSE, 0, 0, 0, 1)"

// TestRunsOfBeforeGetTheirScopes migrates a database with runs in several queues.
func TestRunsOfBeforeGetTheirScopes(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, before(t, "0006_runs_scopes"), func(t *testing.T, d *db.DB) {
		now := db.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		want := map[string][]string{}
		for _, r := range []struct {
			id, queue string
			parent    any
			object    string
		}{
			{"a", "default", nil, "queue:default"}, {"b", "gpu", nil, "queue:gpu"}, {"c", "gpu", nil, "queue:gpu"},
			{"d", "site/berlin:1", nil, "queue:site/berlin:1"}, {"b1", "gpu", "b", "queue:gpu"},
			{"b2", "default", "b", "queue:gpu"},
			{"a1", "gpu", "a", "queue:default"},
		} {
			kind, shard := "split", any(nil)
			if r.parent != nil {
				kind, shard = "shard", len(want)
			}
			err := d.Do(t.Context(), func(ctx context.Context) error {
				q, err := d.Write(ctx)
				if err == nil {
					_, err = q.ExecContext(ctx, oldRun, r.id, kind, r.queue, r.parent, shard, now)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want[r.id] = []string{r.object}
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		s := sqlruns.New(d)
		got := map[string][]string{}
		for id := range want {
			list, err := s.Objects(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got[id] = list
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		var scopes, objects int
		if err := d.Read(t.Context()).QueryRowContext(t.Context(),
			"SELECT (SELECT count(*) FROM run_scopes), (SELECT count(*) FROM run_scope_objects)").
			Scan(&scopes, &objects); err != nil {
			t.Fatal(err)
		}
		if scopes != 2 || objects != 2 {
			t.Errorf("%d scopes of %d objects", scopes, objects)
		}
		// A new run shares the scope of the old ones.
		if err := restrictor(d)(t.Context(), restricted("queue:gpu")); err != nil {
			t.Fatal(err)
		}
		l, err := s.List(t.Context(), runs.Filter{Scope: access.Scope{}})
		if err != nil || len(l.Runs) != 2 || l.Total != 2 {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// graph returns the graph of an old pipeline, whose steps have the queues or none.
func graph(vars string, queues ...string) string {
	text := `{"steps":[`
	for i, q := range queues {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"name":"s%d","extra_vars":%s`, i, vars)
		if q != "" {
			text += fmt.Sprintf(`,"queue":%q`, q)
		}
		text += "}"
	}
	return text + `],"vars":` + vars + `}`
}

// TestPipelinesOfBeforeNameTheirSteps migrates pipelines whose steps are in queues of their own. Some databases do
// not accept some of their values as JSON.
func TestPipelinesOfBeforeNameTheirSteps(t *testing.T) {
	t.Parallel()
	odd := `{"queue":"no","a":"\u0000","b":"\\u0000","c":"\ud800","d":"\uD83D\uDE00","e":"\\","queue\u0000":1}`
	dbtest.EachEngine(t, before(t, "0006_runs_scopes"), func(t *testing.T, d *db.DB) {
		now := db.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		both, all := []string{"queue:default", "queue:gpu"}, []string{"queue:default", "queue:gpu", "queue:vault"}
		want := map[string][]string{}
		for _, r := range []struct {
			id, kind, queue, parent, graph string
			objects                        []string
		}{
			{"p1", "pipeline", "default", "", graph(odd, "", "gpu", ""), both},
			{"p2", "pipeline", "gpu", "", graph("{}", "default", "default", "gpu"), both},
			{"p3", "pipeline", "gpu", "", graph("{}", "default", "vault"), all},
			{"p4", "pipeline", "default", "", graph("{}", "", ""), []string{"queue:default"}},
			{"p5", "pipeline", "gpu", "", graph("{}", "", "gpu"), []string{"queue:gpu"}},
			{"p6", "pipeline", "default", "", `{"steps":null}`, both}, {"p7", "pipeline", "gpu", "", "", []string{"queue:gpu"}},
			{"p1a", "step", "default", "p1", "", both}, {"p1b", "step", "gpu", "p1", "", both},
			{"p3a", "step", "default", "p3", "", all},
			{"p4a", "step", "default", "p4", "", []string{"queue:default"}},
			{"p5a", "step", "gpu", "p5", "", []string{"queue:gpu"}},
			{"p6a", "step", "gpu", "p6", "", both},
			{"s1", "single", "vault", "", "", []string{"queue:vault"}},
		} {
			err := d.Do(t.Context(), func(ctx context.Context) error {
				q, err := d.Write(ctx)
				if err != nil {
					return err
				}
				parent := any(nil)
				if r.parent != "" {
					parent = r.parent
				}
				if _, err = q.ExecContext(ctx, oldRun, r.id, r.kind, r.queue, parent, nil, now); err != nil || r.graph == "" {
					return err
				}
				_, err = q.ExecContext(ctx, "INSERT INTO run_documents (run_seq, graph) SELECT seq, ? FROM runs WHERE id = ?",
					r.graph, r.id)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want[r.id] = r.objects
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		s := sqlruns.New(d)
		got := map[string][]string{}
		for id := range want {
			list, err := s.Objects(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got[id] = list
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		var digests []string
		err := d.Read(t.Context()).NewRaw("SELECT digest FROM run_scopes ORDER BY digest").Scan(t.Context(), &digests)
		if diff := cmp.Diff([]string{"backfill:p1", "backfill:p3", "queue:gpu", "queue:vault"}, digests); diff != "" ||
			err != nil {
			t.Errorf("scopes (-want +got), %v:\n%s", err, diff)
		}
		// A caller who may not read the queue of one step may not read the pipeline.
		if err := restrictor(d)(t.Context(), restricted("queue:gpu")); err != nil {
			t.Fatal(err)
		}
		l, err := s.List(t.Context(), runs.Filter{Scope: access.Scope{}})
		var shown []string
		for _, r := range l.Runs {
			shown = append(shown, r.ID)
		}
		if slices.Sort(shown); err != nil || !slices.Equal(shown, []string{"p4", "s1"}) || l.Total != 2 {
			t.Errorf("%v of %d, %v", shown, l.Total, err)
		}
	})
}

// TestHoldsOfBeforeAreApprovals migrates a database with a run that is held and one that is not.
func TestHoldsOfBeforeAreApprovals(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, before(t, "0042_runs_approvals"), func(t *testing.T, d *db.DB) {
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			for _, id := range []string{"held", "free"} {
				if err == nil {
					_, err = q.ExecContext(ctx, oldRun, id, "single", "default", nil, nil, db.At(time.Now()))
				}
			}
			if err == nil {
				_, err = q.ExecContext(ctx, "UPDATE runs SET held_by = ? WHERE id = 'held'", `{"id":"pol_1","name":"a \"b\""}`)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		want := &runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: `a "b"`, Needed: 1}}}
		for id, want := range map[string]*runs.Approvals{"held": want, "free": nil} {
			r, err := sqlruns.New(d).ByID(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.Approvals); diff != "" {
				t.Errorf("%s: %s", id, diff)
			}
		}
	})
}
