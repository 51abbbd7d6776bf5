package bench

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the baseline writes to the same engine

	"github.com/writ-automation/writ/e2e/harness"
)

// BenchmarkBoot measures from the start of the process to the first 200 of /readyz, on an existing empty database.
func BenchmarkBoot(b *testing.B) {
	s := harness.Start(b, harness.Options{})
	s.Stop()
	var samples []time.Duration
	for b.Loop() {
		start := time.Now()
		s = s.Again()
		samples = append(samples, time.Since(start))
		s.Stop()
	}
	b.ReportMetric(ms(quantile(samples, 0.5)), "ms-ready")
}

// BenchmarkIdle measures resident memory of an idle server and the size of its binary.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		s := harness.Start(b, harness.Options{})
		<-time.After(2 * time.Second)
		b.ReportMetric(procStatus(b, s.PID, "VmRSS"), "MiB-rss")
		info, err := os.Stat(harness.Binary(b))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-binary-unstripped")
		s.Stop()
	}
}

// BenchmarkSubmit measures submissions a second by concurrent clients, against a server that does one durable insert.
func BenchmarkSubmit(b *testing.B) {
	for _, clients := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s := harness.Start(b, harness.Options{Flags: []string{"--executors", "0"}})
			base := durableInsert(b)
			body := `{"tool":"bash","command":"echo hi"}`
			for b.Loop() {
				const n = 4000
				ours := rate(b, s.Client, "/v1/runs", body, clients, n)
				theirs := rate(b, base, "/", body, clients, n)
				b.ReportMetric(ours, "submits/s")
				b.ReportMetric(theirs, "baseline/s")
				b.ReportMetric(ours/theirs, "ratio")
			}
			s.Stop()
		})
	}
}

// rate posts body n times over some clients and returns posts a second; every answer must be 201.
func rate(b *testing.B, c harness.Client, path, body string, clients, n int) float64 {
	b.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: clients}
	defer tr.CloseIdleConnections()
	hc := &http.Client{Transport: tr}
	var wg sync.WaitGroup
	var bad atomic.Int64
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for range n / clients {
				req, err := http.NewRequest(http.MethodPost, c.URL+path, strings.NewReader(body))
				if err != nil {
					bad.Add(1)
					return
				}
				req.Header.Set("Authorization", "Bearer "+c.Token)
				req.Header.Set("Content-Type", "application/json")
				resp, err := hc.Do(req)
				if err != nil {
					bad.Add(1)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		b.Fatalf("%d submissions failed", bad.Load())
	}
	return float64(n/clients*clients) / time.Since(start).Seconds()
}

// durableInsert is the baseline: net/http and one committed insert a request, in the same durability.
func durableInsert(b *testing.B) harness.Client {
	b.Helper()
	dsn := "file:" + filepath.Join(b.TempDir(), "base.db") +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)"); err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = db.Exec("INSERT INTO t (body) VALUES (?)", string(body))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	b.Cleanup(func() { srv.Close(); _ = db.Close() })
	return harness.NewClient(b, srv.URL, "")
}
