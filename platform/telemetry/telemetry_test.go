package telemetry_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/platform/telemetry"
)

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	rec := httptest.NewRecorder()
	tel.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestRequests(t *testing.T) {
	t.Parallel()
	tel := telemetry.New(slog.New(slog.DiscardHandler))
	tel.Observe("/v1/runs/{id}", "GET", 200, 3*time.Millisecond)
	for i := range 50 {
		tel.Observe("/v1/runs/{id}", fmt.Sprintf("MADEUP%d", i), 900+i, time.Millisecond)
	}
	text := scrape(t, tel)
	for _, want := range []string{
		`writ_http_request_duration_seconds_count{code="200",method="GET",route="/v1/runs/{id}"} 1`,
		`writ_http_request_duration_seconds_bucket{code="200",method="GET",route="/v1/runs/{id}",le="0.0025"} 0`,
		`writ_http_request_duration_seconds_bucket{code="200",method="GET",route="/v1/runs/{id}",le="0.005"} 1`,
		`writ_http_request_duration_seconds_count{code="other",method="other",route="/v1/runs/{id}"} 50`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "MADEUP") {
		t.Error("a label carries a client's text")
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	tel := telemetry.New(slog.New(slog.DiscardHandler))
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "writ_test_total", Help: "x"})
	if err := tel.Register(c); err != nil {
		t.Fatal(err)
	}
	if err := tel.Register(c); err == nil {
		t.Error("one metric is registered twice")
	}
	broken := prometheus.NewInvalidDesc(fmt.Errorf("the store is gone"))
	if err := tel.Register(failing{broken}); err != nil {
		t.Fatal(err)
	}
	c.Inc()
	if text := scrape(t, tel); !strings.Contains(text, "writ_test_total 1") {
		t.Error("a failing collector takes the others with it")
	}
}

type failing struct{ desc *prometheus.Desc }

func (failing) Describe(chan<- *prometheus.Desc) {}
func (f failing) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(f.desc, fmt.Errorf("the store is gone"))
}
