package runs_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// TestAPageDecodesItsOwnEvents reads pages before a row that cannot be decoded: only the page that needs it fails.
// Otherwise a small page of a large run would decode thousands of events in vain.
func TestAPageDecodesItsOwnEvents(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := sqlruns.New(d)
		fill(t, d, s, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), 1)
		r, err := s.ByID(t.Context(), "run_000000")
		if err != nil {
			t.Fatal(err)
		}
		err = d.Do(t.Context(), func(ctx context.Context) error {
			_, err := d.InUnit(ctx).ExecContext(ctx, "INSERT INTO run_events (run_seq, first_seq, last_seq, codec, data) "+
				"VALUES (?, 1, 2, 0, ?), (?, 3, 4, 0, ?)",
				r.Seq, []byte(`{"seq":1,"type":"warning"}`+"\n"+`{"seq":2,"type":"warning"}`+"\n"), r.Seq, []byte("{"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for limit := 1; limit <= 2; limit++ {
			list, err := s.Events(t.Context(), r.ID, 0, limit)
			if err != nil || len(list) != limit || list[limit-1].Seq != int64(limit) {
				t.Errorf("a page of %d: %+v, %v", limit, list, err)
			}
		}
		if list, err := s.Events(t.Context(), r.ID, 0, 3); err == nil {
			t.Errorf("a page with a row that cannot be decoded: %+v", list)
		}
	})
}
