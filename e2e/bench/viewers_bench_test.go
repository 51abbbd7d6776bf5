package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// The viewers of one run, from as many accounts, and what the run prints: for ten seconds twenty pieces of twenty lines
// a second.
const (
	viewers, viewerAccounts = 200, 4
	pieces, piecesPerSecond = 200, 20
)

// BenchmarkViewers measures the processor time that a server takes while many follow one busy run, beside the same run
// with one viewer. Every viewer gets the whole output.
func BenchmarkViewers(b *testing.B) {
	s := harness.Start(b, harness.Options{Tags: []string{harness.Release},
		Flags: []string{"--executors", "1", "--isolation", "none"}})
	var tokens []string
	for i := range viewerAccounts {
		id := create(b, s, "/v1/users", harness.Body{"username": fmt.Sprint("viewer", i), "role": "viewer"})
		var made struct {
			Token string `json:"token"`
		}
		s.Do(http.MethodPost, "/v1/tokens", harness.Body{"user_id": id, "name": "viewer"}).JSON(b, &made)
		tokens = append(tokens, made.Token)
	}
	var alone, all, lasted time.Duration
	for b.Loop() {
		one, _ := viewed(b, s, tokens, 1)
		many, t := viewed(b, s, tokens, viewers)
		alone, all, lasted = alone+one, all+many, lasted+t
	}
	per := float64(10*time.Second) / float64(lasted)
	b.ReportMetric(all.Seconds()*per, "s/10s")
	b.ReportMetric(alone.Seconds()*per, "s/10s-alone")
	b.ReportMetric(0, "ns/op")
}

// viewed returns the processor time of the server while a run prints and n follow it, and how long that lasted.
func viewed(b *testing.B, s *harness.Server, tokens []string, n int) (spent, lasted time.Duration) {
	b.Helper()
	begin := filepath.Join(b.TempDir(), "begin")
	run := s.Submit(harness.Body{"tool": "bash", "command": fmt.Sprintf(`until [ -e %s ]; do sleep 0.1; done
for i in $(seq %d); do
  for j in $(seq 20); do echo "line $j of piece $i, which is as long as the lines of other runs are"; done
  sleep %.3f
done`, begin, pieces, 1.0/piecesPerSecond)})
	s.Until(run.ID, time.Minute, func(r harness.Run) bool { return r.Status == "running" })
	var ready, ended sync.WaitGroup
	for i := range n {
		ready.Add(1)
		ended.Go(func() {
			if lines, err := watchRun(b.Context(), s.As(tokens[i%len(tokens)]), run.ID, ready.Done); err != nil ||
				lines != 20*pieces {
				b.Errorf("a viewer got %d lines, %v", lines, err)
			}
		})
	}
	ready.Wait()
	before, start := processorTime(b, s.PID), time.Now()
	must(b, os.WriteFile(begin, nil, 0o600))
	ended.Wait()
	return processorTime(b, s.PID) - before, time.Since(start)
}

// watchRun follows a run to its end and counts the lines of its output. It calls ready after the first message.
func watchRun(ctx context.Context, c harness.Client, id string, ready func()) (lines int, err error) {
	first := sync.OnceFunc(ready)
	defer first()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/v1/runs/"+id+"/stream", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 8<<20)
	event := ""
	for sc.Scan() {
		if name, ok := strings.CutPrefix(sc.Text(), "event: "); ok {
			event = name
			first()
		}
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok || event != "log" {
			continue
		}
		var piece struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal([]byte(data), &piece); err != nil {
			return lines, err
		}
		lines += strings.Count(piece.Text, "\n")
	}
	if event != "end" && sc.Err() == nil {
		return lines, fmt.Errorf("the stream ends with %q", event)
	}
	return lines, sc.Err()
}
