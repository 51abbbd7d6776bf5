package estate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// TestDriftOutlivesRuns deletes the run that found drift.
func TestDriftOutlivesRuns(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		list, drift := sqlruns.New(d), sqlestate.New(d)
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r := &runs.Run{ID: "run_" + strings.Repeat("0", 26), Kind: runs.Single, Status: runs.Succeeded, CreatedAt: at,
			QueuedAt: at, StartedAt: at, EndedAt: at, Objects: []string{access.Queue("vault")},
			Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", DryRun: true, Queue: "vault"}}
		found := estate.Finding{Host: "h", Task: "a", Key: "k", Resource: "file /a", Tasks: []string{"a"}}
		c := estate.Checked{Run: r, Target: estate.TargetOf(&r.Spec), Tasks: []string{"a"},
			Hosts: []estate.HostCheck{{Host: "h", At: at, States: []estate.TaskState{estate.Known}, Checked: 1,
				Findings: []estate.Finding{found}}}}
		if err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := list.Insert(ctx, r); err != nil {
				return err
			}
			_, err := drift.Apply(ctx, c, at)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		read := func() (pages []estate.DriftPage) {
			for _, s := range []access.Scope{access.Everything(), {Strict: true}} {
				p, err := drift.Findings(t.Context(), estate.DriftQuery{}, s, at)
				if err != nil {
					t.Fatal(err)
				}
				pages = append(pages, p)
			}
			return pages
		}
		before := read()
		if before[0].Total != 1 || before[1].Total != 0 || before[1].Withheld != 1 {
			t.Fatalf("%+v", before)
		}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			n, err := list.PurgeRuns(ctx, at.Add(time.Hour), 10)
			if n != 1 {
				t.Errorf("%d runs were deleted", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, read()); diff != "" {
			t.Error(diff)
		}
	})
}
