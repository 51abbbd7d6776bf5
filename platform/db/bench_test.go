package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// BenchmarkUnits measures units of one insert each, per engine and number of callers.
func BenchmarkUnits(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		for _, callers := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/callers=%d", engine, callers), func(b *testing.B) {
				d := dbtest.Open(b, engine, migrations(b))
				spread(b, callers, func(ctx context.Context, id string) error {
					return d.Do(ctx, func(ctx context.Context) error { return insert(ctx, d, note{ID: id}) })
				})
				if s := d.Stats(); s.Commits > 0 {
					b.ReportMetric(float64(s.Units)/float64(s.Commits), "units/commit")
				}
			})
		}
	}
}

// BenchmarkCommitEach is the baseline on SQLite: the same insert with a durable commit of its own.
func BenchmarkCommitEach(b *testing.B) {
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("sqlite/callers=%d", callers), func(b *testing.B) {
			path := dbtest.Fresh(b, db.SQLite, migrations(b))
			pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+
				"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = pool.Close() }()
			pool.SetMaxOpenConns(1)
			spread(b, callers, func(ctx context.Context, id string) error {
				tx, err := pool.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, "INSERT INTO notes (id) VALUES (?)", id); err != nil {
					return err
				}
				return tx.Commit()
			})
		})
	}
}

// spread runs b.N calls over a number of goroutines.
func spread(b *testing.B, callers int, call func(ctx context.Context, id string) error) {
	b.Helper()
	var next atomic.Int64
	failed := make(chan error, callers)
	b.ResetTimer()
	for range callers {
		go func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					failed <- nil
					return
				}
				if err := call(b.Context(), strconv.FormatInt(n, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	for range callers {
		if err := <-failed; err != nil {
			b.Error(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "units/s")
}
