package estate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// BenchmarkReport stores a run of five thousand hosts that have twenty results.
func BenchmarkReport(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			d := dbtest.Open(b, engine, migrations.FS)
			s, n := sqlestate.New(d), 0
			report := func() {
				n++
				r := estate.RunReport{Run: &runs.Run{ID: fmt.Sprint("run_", n), Objects: []string{access.Queue(runs.DefaultQueue)},
					EndedAt: time.Date(2026, 5, 1, 12, n, 0, 0, time.UTC)}}
				for i := range 5000 {
					r.Hosts = append(r.Hosts, runs.HostSummary{Host: fmt.Sprint("host", i), OK: 5, Worst: runs.HostOK})
				}
				if err := d.Do(b.Context(), func(ctx context.Context) error { return s.Report(ctx, r) }); err != nil {
					b.Fatal(err)
				}
			}
			for range 20 {
				report()
			}
			for b.Loop() {
				report()
			}
		})
	}
}
