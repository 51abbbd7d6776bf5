package bench

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// BenchmarkFleet measures a page of the rank, the page of a host and a scrape, with a hundred results of each host: how
// long an answer takes, and the processor time of the server without that of Postgres.
func BenchmarkFleet(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, n := range []int{5000, 50_000} {
			b.Run(fmt.Sprintf("%s/hosts=%d", engine, n), func(b *testing.B) {
				url := ""
				if engine == "postgres" {
					url = harness.Postgres(b)
				}
				s := knownHosts(b, url, n)
				for b.Loop() {
					for name, path := range map[string]string{
						"fleet": "/v1/fleet", "wide": "/v1/fleet?window=100", "last": fmt.Sprint("/v1/fleet?offset=", n-200),
						"q": "/v1/fleet?q=host77", "host": "/v1/hosts/host77", "missing": "/v1/hosts/hots77x", "metrics": "/metrics",
					} {
						if name == "missing" {
							start := time.Now()
							s.Do("GET", path, nil)
							b.ReportMetric(ms(time.Since(start)), "ms-"+name)
							continue
						}
						cpu := spent(b, s.PID, 20, func() {
							b.ReportMetric(ms(quantile(pages(b, s, 1, 20, path), 0.95)), "ms-p95-"+name)
						})
						b.ReportMetric(cpu/1000, "ms-cpu-"+name)
					}
					b.ReportMetric(procStatus(b, s.PID, "VmHWM"), "MiB-peak")
				}
				s.Stop()
			})
		}
	}
}

// knownHosts creates a database with hosts and a hundred results of each, as the store packs them.
func knownHosts(b *testing.B, url string, n int) *harness.Server {
	b.Helper()
	s := harness.Start(b, harness.Options{DB: url})
	const results, minute = 100, int64(60_000_000)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	numbers := func(from, to int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", from, to)
	}
	s.Alter(numbers(1, results) + "INSERT INTO estate_runs (id, run_id, scope_id, name, status, tool, playbook, " +
		"template_id, inventory_id, dry_run, ended_at, named) SELECT i, 'run_' || i, 0, 'nightly', 'succeeded', " +
		"'ansible', 'site.yml', '', '', FALSE, '2026-01-01T00:00:00.000000Z', 1 FROM n")
	s.Alter(numbers(1, n)+"INSERT INTO estate_hosts (id, name, outcome, ended_us, results) "+
		"SELECT i, 'host' || i, 'ok', ?, ? FROM n", first+results*minute, results)
	// A seventh of the hosts failed in some of the runs.
	for i := range 7 {
		ring, ended, run := []byte{}, int64(0), int64(0)
		for r := int64(results); r > 0; r-- {
			at := first + r*minute
			if ended == 0 {
				ring = binary.AppendUvarint(ring, uint64(at))
			} else {
				ring = binary.AppendUvarint(ring, uint64(ended-at))
			}
			ring = binary.AppendVarint(ring, r-run)
			outcome := uint64(1)
			if i == 0 && r%3 == 0 {
				outcome = 5
			}
			ring, ended, run = binary.AppendUvarint(ring, outcome), at, r
		}
		s.Alter("INSERT INTO estate_rings (kind, subject_id, scope_id, ring) SELECT 1, id, 0, ? FROM estate_hosts "+
			"WHERE id % 7 = ?", ring, i)
	}
	for from := 1; from <= n; from += 1000 {
		s.Alter(numbers(1, results)+"INSERT INTO estate_results (host_id, ended_us, run_no, ok, changed, failed, "+
			"unreachable, skipped, rescued, ignored, worst, duration_us) "+
			"SELECT h.id, ? + CAST(n.i AS BIGINT) * ?, n.i, 5, 1, 0, 0, 2, 0, 0, 'changed', 1500000 "+
			"FROM estate_hosts AS h CROSS JOIN n WHERE h.id BETWEEN ? AND ?", first, minute, from, from+999)
	}
	return s
}
