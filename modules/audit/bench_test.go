package audit_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
)

// benchEntries is the longer of the two chains that BenchmarkTrail measures, ten times the shorter one:
//
//	WRIT_BENCH_ENTRIES=100000 go test -bench Trail -run - ./modules/audit
const benchEntries = "WRIT_BENCH_ENTRIES"

// BenchmarkTrail measures the prover on a real database at two lengths of the chain: verification, the streamed bundle
// of the whole chain, and the receipt of one run.
func BenchmarkTrail(b *testing.B) {
	longest, err := strconv.ParseInt(os.Getenv(benchEntries), 10, 64)
	if err != nil || longest < 10 {
		longest = 1_000_000
	}
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			w := newFixture(b, engine)
			for _, n := range []int64{longest / 10, longest} {
				w.grow(b, n)
				b.Run(fmt.Sprintf("verify/entries=%d", n), func(b *testing.B) { each(b, n, func() { w.verify(b) }) })
				b.Run(fmt.Sprintf("bundle/entries=%d", n), func(b *testing.B) {
					each(b, n, func() { w.bundle(b, audit.BundleQuery{}) })
				})
				b.Run(fmt.Sprintf("receipt/entries=%d", n), func(b *testing.B) {
					each(b, 1, func() {
						if _, err := w.prover.Receipt(b.Context(), runOf(n/6), audit.ReceiptQuery{}); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		})
	}
}

// each measures the clock time and the CPU time of fn, which processes n entries.
func each(b *testing.B, n int64, fn func()) {
	b.Helper()
	b.ReportAllocs()
	before := processor(b)
	for b.Loop() {
		fn()
	}
	per := float64(b.N)
	b.ReportMetric((processor(b)-before).Seconds()/per, "cpu-s/op")
	b.ReportMetric(b.Elapsed().Seconds()/per, "s/op")
	b.ReportMetric(float64(n)*per/b.Elapsed().Seconds(), "entries/s")
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
