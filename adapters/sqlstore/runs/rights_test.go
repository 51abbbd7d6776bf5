package runs_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs/runstest"
)

// restrictor writes rights to the access tables.
func restrictor(d *db.DB) func(context.Context, runstest.Restriction) error {
	now := db.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	return func(ctx context.Context, r runstest.Restriction) error {
		return d.Do(ctx, func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			exec := func(query string, args ...any) {
				if err == nil {
					_, err = q.ExecContext(ctx, query, args...)
				}
			}
			var org any
			if r.Org != "" {
				org = r.Org
				exec("INSERT INTO orgs (id, name, created_at, created_by) VALUES (?, ?, ?, 'test') ON CONFLICT (id) DO NOTHING",
					r.Org, r.Org, now)
			}
			exec("INSERT INTO access_objects (id, kind, org_id, restricted, gone) VALUES (?, 'test', ?, TRUE, FALSE) "+
				"ON CONFLICT (id) DO UPDATE SET org_id = excluded.org_id", r.Object, org)
			exec("DELETE FROM grants WHERE object = ?", r.Object)
			for _, who := range r.Readers {
				exec("INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) VALUES (?, ?, ?, 'read', "+
					"?, 'test', FALSE)",
					fmt.Sprintf("grt_%s_%s", who, r.Object), who, r.Object, now)
			}
			return err
		})
	}
}

func restricted(object string) runstest.Restriction { return runstest.Restriction{Object: object} }

// copier copies a run's row and counts the copies.
func copier(d *db.DB) func(context.Context, string, int) error {
	into := sqlruns.Columns(d)
	from := "r.id || '_' || CAST(n.i AS TEXT), r." + strings.Join(strings.Split(into, ", ")[1:], ", r.")
	return func(ctx context.Context, id string, n int) error {
		return d.Do(ctx, func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			_, err = q.ExecContext(ctx, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "+
				"INSERT INTO runs ("+into+") SELECT "+from+" FROM runs AS r CROSS JOIN n WHERE r.id = ?", n, id)
			if err != nil {
				return err
			}
			_, err = q.ExecContext(ctx,
				"UPDATE run_counts SET n = n + ? WHERE (status, queue, top, slot) = (SELECT c.status, c.queue, c.top, min(c.slot) "+
					"FROM run_counts AS c JOIN runs AS r ON r.status = c.status AND r.queue = c.queue WHERE r.id = ? AND c.top AND "+
					"c.n > 0 GROUP BY c.status, c.queue, c.top)", n, id)
			return err
		})
	}
}
