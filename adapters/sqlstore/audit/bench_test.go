package audit_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
)

// benchEntries sets the length of the measured chain:
//
//	WRIT_BENCH_ENTRIES=1000000 go test -bench Range -run - ./adapters/sqlstore/audit
const benchEntries = "WRIT_BENCH_ENTRIES"

// entry makes an entry of usual size after a tip.
func entry(tip audit.Tip, now time.Time) audit.Stored {
	e := audit.Stored{
		Seq: tip.Size + 1, ID: fmt.Sprintf("aud_%026d", tip.Size+1), At: now.Format("2006-01-02T15:04:05.000000Z"),
		Action: "run.submit",
		Actor:  "usr_00000000000000000000000001", Object: fmt.Sprintf("run/run_%026d", tip.Size/4),
		Run:         fmt.Sprintf("run_%026d", tip.Size/4),
		Disclosures: []string{strings.Repeat("W", 70), strings.Repeat("x", 80), strings.Repeat("y", 60)},
		Detail:      `{"salt":"` + strings.Repeat("z", 200) + `"}`,
	}
	e.Leaf = `{"act":"` + e.Action + `","at":"` + e.At + `","id":"` + e.ID + `","obj":"` + e.Object + `","prev":"` +
		base64.StdEncoding.EncodeToString(tip.Hash[:]) + `","run":"` + e.Run + `","seq":` + strconv.FormatInt(e.Seq, 10) +
		`,"sub":"` + e.Actor + `","v":1}`
	e.Hash = sha256.Sum256([]byte("\x00" + e.Leaf))
	return e
}

// link adds one entry at the end of a unit.
func link(ctx context.Context, s *sqlaudit.Store) error {
	tip, now, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	return s.Append(ctx, []audit.Stored{entry(tip, now)})
}

// BenchmarkAppend measures units of work with one entry each.
func BenchmarkAppend(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		for _, writers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/writers=%d", engine, writers), func(b *testing.B) {
				d := dbtest.Connect(b, db.Config{URL: dbtest.Fresh(b, engine, migrations.FS), UnitTimeout: time.Hour})
				s := sqlaudit.New(d)
				spread(b, writers, func(ctx context.Context) error {
					return d.Do(ctx, func(ctx context.Context) error { return link(ctx, s) })
				})
				if tip, err := s.Tip(b.Context()); err != nil || tip.Size != int64(b.N) {
					b.Errorf("%d units made %d entries: %v", b.N, tip.Size, err)
				}
			})
		}
	}
}

// spread distributes b.N calls over a number of goroutines.
func spread(b *testing.B, callers int, call func(ctx context.Context) error) {
	b.Helper()
	var next atomic.Int64
	failed := make(chan error, callers)
	b.ResetTimer()
	for range callers {
		go func() {
			for next.Add(1) <= int64(b.N) {
				if err := call(b.Context()); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
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

// fill makes a chain of n entries.
func fill(b testing.TB, d *db.DB, s *sqlaudit.Store, n int) {
	b.Helper()
	for made := 0; made < n; {
		err := d.Do(b.Context(), func(ctx context.Context) error {
			tip, now, err := s.Lock(ctx)
			if err != nil {
				return err
			}
			batch := make([]audit.Stored, 0, 4096)
			for len(batch) < cap(batch) && int(tip.Size) < n {
				e := entry(tip, now)
				batch, tip = append(batch, e), audit.Tip{Size: e.Seq, Hash: e.Hash}
			}
			made = int(tip.Size)
			return s.Append(ctx, batch)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// processor returns the CPU time of this process, which is more stable than the clock on a busy machine.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkRange measures a read of the whole chain.
func BenchmarkRange(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv(benchEntries))
	if err != nil || n < 1 {
		n = 50_000
	}
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			d := dbtest.Connect(b, db.Config{URL: dbtest.Fresh(b, engine, migrations.FS), UnitTimeout: time.Hour})
			s := sqlaudit.New(d)
			fill(b, d, s, n)
			for _, private := range []bool{false, true} {
				b.Run(fmt.Sprintf("private=%t", private), func(b *testing.B) {
					b.ReportAllocs()
					spent := processor(b)
					for b.Loop() {
						read := 0
						err := s.Range(b.Context(), 1, int64(n), private, func(*audit.Stored) error { read++; return nil })
						if err != nil || read != n {
							b.Fatalf("%d entries: %v", read, err)
						}
					}
					b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e6, "s/million")
					b.ReportMetric((processor(b)-spent).Seconds()/float64(b.N)/float64(n)*1e6, "cpu-s/million")
				})
			}
			b.Run("count", func(b *testing.B) {
				for b.Loop() {
					if _, _, err := s.Count(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
