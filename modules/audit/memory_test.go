package audit_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// flat bounds the growth of the heap during a read of longChain entries: less than half of the size of the leaves
// alone. Most of it is garbage, which does not grow with the chain.
const flat = 16 << 20

// TestMemoryStaysFlat verifies a long chain and streams it as bundles. It does not run in parallel with other tests,
// whose memory would be measured too.
func TestMemoryStaysFlat(t *testing.T) { //nolint:paralleltest // see above
	w := newFixture(t, db.SQLite)
	w.grow(t, longChain)
	for _, c := range []struct {
		name string
		do   func() int64
	}{
		{"verify", func() int64 { w.verify(t); return 1 << 40 }},
		{"bundle", func() int64 { return w.bundle(t, audit.BundleQuery{}) }},
		{"bundle with disclosures", func() int64 { return w.bundle(t, audit.BundleQuery{Private: true}) }},
		{"tiles", func() int64 { return 3 * w.bundle(t, audit.BundleQuery{Tiles: true}) }}, // about the ratio
	} {
		var streamed int64
		grown := peak(func() { streamed = c.do() })
		t.Logf("%s: the heap grew by %.1f MiB", c.name, float64(grown)/(1<<20))
		if grown > flat {
			t.Errorf("%s: the heap grew by %d bytes", c.name, grown)
		}
		if streamed < longChain*600 {
			t.Errorf("%s: %d bytes are too few to tell", c.name, streamed)
		}
	}
}

// peak returns the maximal growth of the heap during fn, including garbage.
func peak(fn func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, stop, most := m.HeapAlloc, make(chan struct{}), make(chan uint64, 1)
	go func() {
		high := before
		for {
			select {
			case <-stop:
				most <- high
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				high = max(high, m.HeapAlloc)
			}
		}
	}()
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	fn()
	end()
	return <-most - before
}
