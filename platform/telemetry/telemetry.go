package telemetry

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapeTimeout bounds how long one scrape may take.
const scrapeTimeout = 5 * time.Second

// maxScrapes bounds how many scrapes run at once; more are refused.
const maxScrapes = 4

// Telemetry is one process's registry. It is safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	log      *slog.Logger
}

// New makes a registry with the metrics of the Go runtime, the process and HTTP requests.
func New(log *slog.Logger) *Telemetry {
	t := &Telemetry{registry: prometheus.NewRegistry(), log: log}
	t.requests = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "writ_http_request_duration_seconds",
		Help:    "How long HTTP requests took, by the route's pattern.",
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10},
	}, []string{"route", "method", "code"})
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		t.requests)
	return t
}

// Register adds collectors. It returns an error if a metric of that name exists.
func (t *Telemetry) Register(cs ...prometheus.Collector) error {
	var errs []error
	for _, c := range cs {
		if err := t.registry.Register(c); err != nil {
			errs = append(errs, fmt.Errorf("register a metric: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Observe records a finished request. The route is the pattern that matched, never the path.
func (t *Telemetry) Observe(route, method string, code int, d time.Duration) {
	t.requests.WithLabelValues(route, knownMethod(method), knownCode(code)).Observe(d.Seconds())
}

// knownMethod returns one label for methods that clients invent.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return m
	default:
		return "other"
	}
}

func knownCode(code int) string {
	if code < 100 || code > 599 {
		return "other"
	}
	return strconv.Itoa(code)
}

// Handler serves the registry as text. The series of a failed collector are missing, those of the others are not.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(t.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		Timeout:             scrapeTimeout,
		MaxRequestsInFlight: maxScrapes,
	})
}
