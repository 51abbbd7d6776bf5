package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

func count(b *testing.B, s *harness.Server) int {
	b.Helper()
	_, total := s.Runs("status=succeeded&limit=1")
	if total < 10_000 {
		return total
	}
	b.Fatal("the count is capped")
	return 0
}

// BenchmarkOutput measures runs that print a lot, against cat into a file.
func BenchmarkOutput(b *testing.B) {
	dir := harness.Shared(b)
	big, lines := filepath.Join(dir, "big"), filepath.Join(dir, "lines")
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d the quick brown fox jumps over the lazy dog\n", i)
	}
	if err := os.WriteFile(lines, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(big, []byte(strings.Repeat(text.String(), 1+(100<<20)/text.Len())[:100<<20]),
		0o644); err != nil {
		b.Fatal(err)
	}
	for name, file := range map[string]string{"100MB": big, "100k-lines": lines} {
		b.Run(name, func(b *testing.B) {
			s := harness.Start(b, harness.Options{})
			for b.Loop() {
				rss := procStatus(b, s.PID, "VmRSS")
				start := time.Now()
				if err := exec.Command("sh", "-c", "cat "+file+" > "+filepath.Join(dir, "copy")).Run(); err != nil {
					b.Fatal(err)
				}
				base := time.Since(start)
				start = time.Now()
				r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "cat " + file}).ID)
				took := time.Since(start)
				info, err := os.Stat(file)
				if err != nil || r.Status != "succeeded" || r.LogBytes != info.Size() {
					b.Fatalf("%s, %d bytes, %v", r.Status, r.LogBytes, err)
				}
				b.ReportMetric(ms(took), "ms")
				b.ReportMetric(ms(base), "ms-cat")
				b.ReportMetric(procStatus(b, s.PID, "VmHWM")-rss, "MiB-growth")
			}
			s.Stop()
		})
	}
}

// BenchmarkLive measures how long a printed line takes to each of its readers.
func BenchmarkLive(b *testing.B) {
	for _, readers := range []int{1, 50} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) {
			s := harness.Start(b, harness.Options{})
			for b.Loop() {
				r := s.Submit(harness.Body{"tool": "bash",
					"command": "sleep 1; for i in $(seq 1 500); do echo $EPOCHREALTIME; sleep 0.004; done"})
				var mu sync.Mutex
				var lags []time.Duration
				var wg sync.WaitGroup
				for range readers {
					wg.Go(func() {
						got := follow(b, s, r.ID)
						mu.Lock()
						lags = append(lags, got...)
						mu.Unlock()
					})
				}
				wg.Wait()
				if len(lags) != 500*readers {
					b.Fatalf("%d lines of %d", len(lags), 500*readers)
				}
				b.ReportMetric(ms(quantile(lags, 0.5)), "ms-p50")
				b.ReportMetric(ms(quantile(lags, 0.99)), "ms-p99")
			}
			s.Stop()
		})
	}
}

func follow(b *testing.B, s *harness.Server, id string) []time.Duration {
	var lags []time.Duration
	rest := ""
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.Stream(ctx, id, "", func(f harness.Frame) bool {
		now := time.Now()
		if f.Event == "log" {
			var l struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal([]byte(f.Data), &l); err != nil {
				b.Error(err)
			}
			rest += l.Text
			for {
				line, more, ok := strings.Cut(rest, "\n")
				if !ok {
					break
				}
				rest = more
				if sec, err := strconv.ParseFloat(line, 64); err == nil {
					lags = append(lags, now.Sub(time.Unix(0, int64(sec*1e9))))
				}
			}
		}
		return f.Event != "end"
	})
	return lags
}

// BenchmarkInventory measures what the size of an inventory, in a file and stored, costs before the first process of
// a run.
func BenchmarkInventory(b *testing.B) {
	for _, n := range []int{10, 1000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := harness.Shared(b)
			inv := filepath.Join(dir, "hosts.ini")
			if err := os.WriteFile(inv, []byte(hosts(n)), 0o644); err != nil {
				b.Fatal(err)
			}
			s := harness.Start(b, harness.Options{})
			stored := create(b, s, "/v1/inventories", harness.Body{"name": "hosts", "content": hosts(n), "format": "ini"})
			samples := map[string][]time.Duration{}
			for b.Loop() {
				for kind, named := range map[string]harness.Body{"file": {"inventory": inv}, "stored": {"inventory_id": stored}} {
					named["playbook"] = filepath.Join(dir, "none.yml")
					r := s.Await(s.Submit(named).ID)
					if r.StartedAt == nil {
						b.Fatalf("never started: %s %s", r.Status, r.Error)
					}
					samples[kind] = append(samples[kind], r.StartedAt.Sub(r.CreatedAt))
				}
			}
			for kind, s := range samples {
				b.ReportMetric(ms(quantile(s, 0.5)), "ms-start-"+kind)
			}
			s.Stop()
		})
	}
}

func hosts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "host%05d ansible_connection=local\n", i)
	}
	return b.String()
}

// BenchmarkMetrics measures one scrape.
func BenchmarkMetrics(b *testing.B) {
	s := harness.Start(b, harness.Options{})
	submitMany(s, 100)
	var samples []time.Duration
	for b.Loop() {
		start := time.Now()
		if a := s.Do(http.MethodGet, "/metrics", nil); a.Status != http.StatusOK {
			b.Fatalf("%d", a.Status)
		}
		samples = append(samples, time.Since(start))
	}
	b.ReportMetric(ms(quantile(samples, 0.5)), "ms-scrape")
}
