package estate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// TestTrimmingKeepsReadings deletes all results of a run that also gathered facts.
func TestTrimmingKeepsReadings(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := sqlestate.New(d)
		at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		objects := []string{access.Queue(runs.DefaultQueue)}
		do := func(fn func(ctx context.Context) error) {
			t.Helper()
			if err := d.Do(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			r := &runs.Run{ID: fmt.Sprint("run_", i), Status: runs.Succeeded, Objects: objects,
				EndedAt: at.Add(time.Duration(i) * time.Hour)}
			do(func(ctx context.Context) error {
				if i > 0 {
					return nil
				}
				return s.Record(ctx, []estate.GatheredFacts{{Host: "a", GatheredAt: at, RunID: r.ID, Run: r, Objects: objects,
					Stable: estate.Facts{"k": []byte("1")}}})
			})
			do(func(ctx context.Context) error {
				return s.Report(ctx, estate.RunReport{Run: r, Hosts: []runs.HostSummary{{Host: "a", Worst: runs.HostOK}}})
			})
		}
		for range 2 {
			do(func(ctx context.Context) error {
				_, err := s.Trim(ctx, 1, 100)
				return err
			})
		}
		if list, err := s.Runs(t.Context(), "a", 10, access.Everything()); len(list) != 1 || err != nil {
			t.Errorf("%d results are left: %v", len(list), err)
		}
		r, err := s.Newest(t.Context(), "a", access.Everything())
		if err != nil || r.RunID != "run_0" || string(r.Facts["k"]) != "1" {
			t.Errorf("the reading is %+v: %v", r, err)
		}
	})
}

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
