package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// BenchmarkRelay measures 1,000 runs of `true` on the server itself, on a worker over its database and on one over
// the relay, and how long an idle executor of each takes from the submission of a run to its end.
func BenchmarkRelay(b *testing.B) {
	const n, executors = 1000, 16
	many := []string{"--executors", fmt.Sprint(executors)}
	for _, how := range []string{"server", "database", "relay"} {
		b.Run(how, func(b *testing.B) {
			o := harness.Options{Flags: []string{"--executors", "0"}, Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}}
			if how == "server" {
				o.Flags = many
			}
			s := harness.Start(b, o)
			switch how {
			case "database":
				harness.StartWorker(b, harness.WorkerOptions{DB: s.DB, Flags: many})
			case "relay":
				harness.StartWorker(b, harness.WorkerOptions{Server: s.URL, Flags: many})
			}
			for b.Loop() {
				_, before := s.Runs("limit=1")
				start := time.Now()
				submitMany(s, n)
				for count(b, s) < before+n {
					<-time.After(20 * time.Millisecond)
				}
				b.ReportMetric(n/time.Since(start).Seconds(), "runs/s")
				var took []time.Duration
				for range 50 {
					start := time.Now()
					id := s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID
					for !s.Get(id).Ended() {
						<-time.After(time.Millisecond)
					}
					took = append(took, time.Since(start))
				}
				b.ReportMetric(ms(quantile(took, 0.5)), "ms-p50")
				b.ReportMetric(ms(quantile(took, 0.95)), "ms-p95")
			}
		})
	}
}
