package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/catalog"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	portscheduling "github.com/writ-automation/writ/ports/scheduling"
)

// TestWhatRanSideBySideStillDoes migrates objects from before limits: their runs have none, and schedules do not look
// for their last runs.
func TestWhatRanSideBySideStillDoes(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, dbtest.Before(t, migrations.FS, "0046"), func(t *testing.T, d *db.DB) {
		at := db.At(time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC))
		const record = "(id, name, created_by, created_at, updated_at, revision, "
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			for _, statement := range []string{
				"templates " + record + `spec) VALUES ('tpl_1', 't', 'usr_1', ?, ?, 1, '{"tool":"bash","command":"true"}')`,
				"inventories " + record + "format, credential_ids, queue, host_count, group_count, digest, host_key_policy) " +
					"VALUES ('inv_1', 'i', 'usr_1', ?, ?, 1, 'ini', '[]', '', 0, 0, '', 'strict')",
				"schedules " + record + "owner, cron, timezone, enabled, template_id, target, last_run_id, last_error) " +
					`VALUES ('sch_1', 's', 'usr_1', ?, ?, 1, '', '@daily', '', TRUE, 'tpl_1', '{"template_id":"tpl_1"}', '', '')`,
			} {
				if err == nil {
					_, err = q.ExecContext(ctx, "INSERT INTO "+statement, at, at)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		template, err := catalog.New(d).TemplateByID(t.Context(), "tpl_1")
		if err != nil || template.MaxConcurrent != 0 || template.WhenBusy != "" || template.Command != "true" {
			t.Errorf("%+v, %v", template, err)
		}
		inventory, err := catalog.New(d).InventoryByID(t.Context(), "inv_1")
		if err != nil || inventory.MaxConcurrent != 0 || inventory.Name != "i" {
			t.Errorf("%+v, %v", inventory, err)
		}
		schedule, err := scheduling.New(d).ScheduleByID(t.Context(), "sch_1")
		if err != nil || schedule.Overlap != portscheduling.OverlapAllow || schedule.Cron != "@daily" {
			t.Errorf("%+v, %v", schedule, err)
		}
	})
}
