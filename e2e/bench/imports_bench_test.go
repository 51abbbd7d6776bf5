package bench

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// growth is how many MiB a preview of the largest export may add to the memory of a server.
const growth = 200

// imports measures previews of exports of two sizes in KiB, of which the second is the largest that a server takes and
// has some hundred objects, or one inventory of thousands of hosts. The baseline reads the values of the same
// body with the library of its notation, in this process; that of the memory is the body.
func imports() subject {
	return subject{name: "imports", sizes: []int{2_500, 25_000}, open: func(b *testing.B) func(int) []probe {
		s := harness.Start(b, harness.Options{Tags: []string{harness.Release},
			Flags: []string{"--executors", "0", "--isolation", "none"}})
		create(b, s, "/v1/inventories", harness.Body{"name": "web", "content": "a\n", "format": "ini"})
		return func(size int) (out []probe) {
			for _, e := range exports() {
				out = append(out, preview(b, &s, e, size<<10))
			}
			return out
		}
	}}
}

// preview previews an export with a server that has just started, so that its memory is its own.
func preview(b *testing.B, s **harness.Server, e export, size int) probe {
	var took []time.Duration
	var objects int
	rows := []row{{"preview, " + e.name, "us"}}
	if size > 10<<20 { // what a small one takes is less than what the memory of a server varies
		rows = append(rows, row{"preview, " + e.name + ", memory", "MiB"})
	}
	return probe{rows: rows, rounds: 1, round: func() []Round {
		body := e.body(b, size)
		(*s).Stop()
		*s = (*s).Again()
		var ours float64
		before := procStatus(b, (*s).PID, "VmRSS")
		peak := peakMemory(b, (*s).PID, func() {
			ours = spent(b, (*s).PID, 1, func() {
				start := time.Now()
				objects = previewed(b, *s, e, body)
				took = append(took, time.Since(start))
			})
		})
		if peak-before > growth {
			b.Errorf("the preview of %d MiB of %s takes %.0f MiB, more than %d", len(body)>>20, e.name, peak-before, growth)
		}
		base := spent(b, os.Getpid(), 1, func() { must(b, e.least(body)) })
		return []Round{{ours, base}, {peak - before, float64(len(body)) / (1 << 20)}}[:len(rows)]
	}, beside: func() string {
		return fmt.Sprintf("p50 %.1f s, %d objects", quantile(took, 0.5).Seconds(), objects)
	}}
}

// previewed returns how many objects an import would write.
func previewed(b *testing.B, s *harness.Server, e export, body []byte) int {
	b.Helper()
	a := s.Do(http.MethodPost, "/v1/import/"+e.format+e.query, string(body), "Content-Type", "application/octet-stream")
	var plan importer.Body
	if a.Status != http.StatusOK {
		b.Fatalf("%s: %d %.300s", e.name, a.Status, a.Body)
	}
	a.JSON(b, &plan)
	if plan.Counts.Create == 0 {
		b.Fatalf("%s: %+v", e.name, plan.Counts)
	}
	return plan.Counts.Create
}
