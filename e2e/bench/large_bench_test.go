package bench

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// BenchmarkLarge measures a server with a long history: boot, scrape, and pages of 200 runs for 16 clients at once.
func BenchmarkLarge(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := longHistory(b, n)
			for b.Loop() {
				s.Stop()
				start := time.Now()
				s = s.Again()
				b.ReportMetric(ms(time.Since(start)), "ms-boot")
				b.ReportMetric(ms(quantile(pages(b, s, 1, 20, "/metrics"), 0.5)), "ms-metrics")
				for name, query := range map[string]string{
					"list": "", "status": "status=succeeded", "q": "q=deploy7", "q-common": "q=deploy", "tool": "tool=bash",
				} {
					path := "/v1/runs?limit=200&" + query
					b.ReportMetric(ms(quantile(pages(b, s, 1, 20, path), 0.95)), "ms-p95-"+name)
					b.ReportMetric(ms(quantile(pages(b, s, 16, 20, path), 0.95)), "ms-p95x16-"+name)
				}
				b.ReportMetric(ms(quantile(deep(b, s, 40), 0.95)), "ms-p95-deep")
				b.ReportMetric(procStatus(b, s.PID, "VmRSS"), "MiB-rss")
			}
			s.Stop()
		})
	}
}

// longHistory creates a database with n ended runs: copies of one real run by SQL, with other times and texts.
func longHistory(b *testing.B, n int) *harness.Server {
	b.Helper()
	s := harness.Start(b, harness.Options{})
	if r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "true", "name": "seed"}).
		ID); r.Status != "succeeded" {
		b.Fatalf("seed: %s", r.Status)
	}
	s.Stop()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Dir, "writ.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var cols []string
	rows, err := db.Query(
		"SELECT name FROM pragma_table_info('runs') WHERE name NOT IN ('seq', 'id', 'name', 'created_at')")
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			b.Fatal(err)
		}
		cols = append(cols, c)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	list := strings.Join(cols, ", ")
	for _, q := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		 INSERT INTO runs (id, name, created_at, ` + list + `) SELECT printf('run_%026d', i), 'deploy' || (i % 1000),
		 strftime('%Y-%m-%dT%H:%M:%S.000000Z', '2026-01-01', '+' || i || ' seconds'), r.` + strings.Join(cols, ", r.") + `
		 FROM n CROSS JOIN (SELECT * FROM runs LIMIT 1) AS r`,
		`INSERT INTO run_search (rowid, words) SELECT seq, 'bash true admin deploy' || (seq % 1000) FROM runs WHERE seq > 1 AND $1 > 0`,
		`UPDATE run_counts SET n = n + $1 WHERE rowid = (SELECT rowid FROM run_counts WHERE status = 'succeeded' AND n > 0 LIMIT 1)`,
	} {
		if _, err := db.Exec(q, n); err != nil {
			b.Fatalf("%v\n%s", err, q)
		}
	}
	return s.Again()
}

// pages asks for a path n times by each of some clients and returns how long each answer took.
func pages(b *testing.B, s *harness.Server, clients, n int, path string) []time.Duration {
	b.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: clients}
	defer tr.CloseIdleConnections()
	hc := &http.Client{Transport: tr}
	var mu sync.Mutex
	var out []time.Duration
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range n {
				req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+s.Token)
				start := time.Now()
				resp, err := hc.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Errorf("%s: %d %v", path, resp.StatusCode, err)
				}
				mu.Lock()
				out = append(out, time.Since(start))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// deep follows the cursor for some pages and returns how long each took.
func deep(b *testing.B, s *harness.Server, n int) []time.Duration {
	b.Helper()
	var out []time.Duration
	cursor := ""
	for range n {
		var p struct {
			Next string `json:"next_cursor"`
		}
		start := time.Now()
		s.Do(http.MethodGet, "/v1/runs?limit=200&cursor="+cursor, nil).JSON(b, &p)
		out = append(out, time.Since(start))
		cursor = p.Next
	}
	return out
}
