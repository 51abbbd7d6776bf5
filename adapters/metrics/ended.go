package metrics

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// remembered is how many messages are known by their id, so that one delivered twice counts once.
const remembered = 4096

// maxTools bounds how many tools have series of their own.
const maxTools = 64

// Ended measures runs as they end.
type Ended struct {
	durations *prometheus.HistogramVec
	hostless  prometheus.Counter

	mu    sync.Mutex
	seen  map[string]bool
	order []string // ring of the ids in seen
	next  int
	tools map[string]bool
}

var _ prometheus.Collector = (*Ended)(nil)

// NewEnded makes the collector.
func NewEnded() *Ended {
	return &Ended{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "writ_run_duration_seconds", Help: "How long runs executed, by tool and outcome.",
			Buckets: []float64{0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400},
		}, []string{"tool", "outcome"}),
		hostless: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "writ_runs_without_hosts_total", Help: "Playbook runs that succeeded and touched no host."}),
		seen: make(map[string]bool), order: make([]string, remembered), tools: make(map[string]bool),
	}
}

func (e *Ended) Describe(ch chan<- *prometheus.Desc) {
	e.durations.Describe(ch)
	e.hostless.Describe(ch)
}

func (e *Ended) Collect(ch chan<- prometheus.Metric) { e.durations.Collect(ch); e.hostless.Collect(ch) }

// Subscription is what the bus calls for every run that ended.
func (e *Ended) Subscription() events.Subscription {
	return events.On("metrics", func(_ context.Context, id string, f runs.Finished) error {
		e.finished(id, f)
		return nil
	})
}

func (e *Ended) finished(id string, f runs.Finished) {
	tool, fresh := e.admit(id, f)
	if !fresh || f.Kind == runs.Pipeline {
		return
	}
	e.durations.WithLabelValues(tool, string(f.Status)).Observe(float64(f.DurationMS) / 1000)
	if f.TopLevel && f.Tool == runs.Ansible && f.Status == runs.Succeeded && f.Touched == 0 {
		e.hostless.Inc()
	}
}

// admit reports whether a message is new, and under which name its tool is counted.
func (e *Ended) admit(id string, f runs.Finished) (tool string, fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[id] {
		return "", false
	}
	delete(e.seen, e.order[e.next])
	e.order[e.next], e.seen[id] = id, true
	e.next = (e.next + 1) % remembered
	if !e.tools[f.Tool] && (len(e.tools) >= maxTools || !plain(f.Tool)) {
		return "other", true
	}
	e.tools[f.Tool] = true
	return f.Tool, true
}
