package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/telemetry"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

type store struct {
	counts []runs.Count
	err    error
}

func (s store) Counts(context.Context) ([]runs.Count, error) { return s.counts, s.err }

type fixed time.Time

func (f fixed) Now() time.Time { return time.Time(f) }

var noon = fixed(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))

func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	tel := telemetry.New(slog.New(slog.DiscardHandler))
	if err := tel.Register(c); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	tel.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return rec.Body.String()
}

func want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, l+"\n") {
			t.Errorf("no line %s", l)
		}
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	counts := []runs.Count{
		{Status: runs.Pending, Queue: "default", Runs: 3, Top: 1, Oldest: noon.Now().Add(-90 * time.Second)},
		{Status: runs.Pending, Queue: "a text of a user", Runs: 1, Top: 1, Oldest: noon.Now().Add(-time.Second)},
		{Status: runs.Succeeded, Queue: "default", Runs: 10, Top: 7}, {Status: runs.Succeeded, Queue: "gpu", Runs: 2, Top: 2},
	}
	for i := range 300 {
		counts = append(counts, runs.Count{Status: runs.Pending, Queue: fmt.Sprintf("q%03d", i), Runs: 2, Top: 2,
			Oldest: noon.Now().Add(time.Hour)})
	}
	text := scrape(t, metrics.NewRuns(store{counts: counts}, nil, noon))
	want(t, text, `writ_runs{status="succeeded"} 9`, `writ_runs{status="running"} 0`,
		`writ_queue_depth{queue="default"} 3`,
		`writ_queue_oldest_seconds{queue="default"} 90`, `writ_queue_oldest_seconds{queue="q000"} 0`)
	if strings.Contains(text, "a text") || strings.Count(text, "writ_queue_depth{") > 101 {
		t.Errorf("%d queues, or a user's text", strings.Count(text, "writ_queue_depth{"))
	}
	text = scrape(t, metrics.NewRuns(store{err: errors.New("gone")}, nil, noon))
	if strings.Contains(text, "writ_runs{") ||
		!strings.Contains(text, "go_goroutines") {
		t.Error("a store that fails shows counts, or hides the rest")
	}
}

// TestQueueNames shows the names that were declared, and sums up every other one.
func TestQueueNames(t *testing.T) {
	t.Parallel()
	counts := []runs.Count{
		{Status: runs.Pending, Queue: "declared", Runs: 2}, {Status: runs.Pending, Queue: "canary", Runs: 3},
		{Status: runs.Pending, Queue: "canary2", Runs: 4, Oldest: noon.Now().Add(-time.Minute)},
		{Status: runs.Pending, Queue: "other", Runs: 1}, {Status: runs.Pending, Queue: runs.DefaultQueue, Runs: 5},
	}
	names := func(context.Context) (map[string]bool, error) { return map[string]bool{"declared": true}, nil }
	text := scrape(t, metrics.NewRuns(store{counts: counts}, names, noon))
	want(t, text, `writ_queue_depth{queue="declared"} 2`, `writ_queue_depth{queue="other"} 8`,
		`writ_queue_depth{queue="default"} 5`, `writ_queue_oldest_seconds{queue="other"} 60`)
	if strings.Contains(text, "canary") {
		t.Errorf("a user's text is shown: %s", text)
	}
	fails := func(context.Context) (map[string]bool, error) { return nil, errors.New("gone") }
	text = scrape(t, metrics.NewRuns(store{counts: counts}, fails, noon))
	if strings.Contains(text, "writ_queue_depth{") ||
		strings.Contains(text, "canary") || !strings.Contains(text, `writ_runs{status="pending"}`) {
		t.Errorf("without the names: %s", text)
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	e := metrics.NewEnded()
	sub := e.Subscription()
	send := func(id string, f runs.Finished) {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Handle(t.Context(), events.Message{ID: id, Name: sub.Event, Data: raw}); err != nil {
			t.Fatal(err)
		}
	}
	nobody := runs.Finished{Kind: runs.Single, Tool: "ansible", Status: runs.Succeeded, TopLevel: true, DurationMS: 700}
	for range 3 {
		send("msg_1", nobody)
	}
	send("msg_2", runs.Finished{Kind: runs.Single, Tool: "bash", Status: runs.Failed, TopLevel: true, DurationMS: 20})
	send("msg_3", runs.Finished{Kind: runs.Pipeline, Tool: "ansible", Status: runs.Succeeded, TopLevel: true})
	for i := range 200 {
		send(fmt.Sprintf("msg_t%d", i), runs.Finished{Kind: runs.Single, Tool: fmt.Sprintf("tool%d", i), Status: runs.Failed})
	}
	text := scrape(t, e)
	want(t, text, `writ_run_duration_seconds_count{outcome="succeeded",tool="ansible"} 1`,
		`writ_runs_without_hosts_total 1`,
		`writ_run_duration_seconds_bucket{outcome="failed",tool="bash",le="0.05"} 1`)
	if n := strings.Count(text, "writ_run_duration_seconds_count{"); n > 66 {
		t.Errorf("%d series of tools", n)
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	stats := db.Stats{Units: 7, Commits: 3}
	stats.Reads.OpenConnections = 4
	stats.GroupSizes[0] = 2
	text := scrape(t, metrics.NewDatabase(func() db.Stats { return stats }))
	want(t, text, "writ_db_units_total 7", "writ_db_commits_total 3", "writ_db_connections 4",
		`writ_db_commit_group_total{units="1"} 2`)
}
