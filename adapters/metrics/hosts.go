package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/runs"
)

// HostCounter is the part of the fleet's store that a scrape reads: counters, never results.
type HostCounter interface {
	Outcomes(ctx context.Context) (map[runs.Outcome]int64, error)
}

// Hosts collects how many hosts have each outcome.
type Hosts struct {
	store HostCounter
	desc  *prometheus.Desc
}

var _ prometheus.Collector = (*Hosts)(nil)

// NewHosts makes the collector over a store.
func NewHosts(store HostCounter) *Hosts {
	return &Hosts{store: store, desc: prometheus.NewDesc("writ_hosts", "Hosts by the outcome of their last run.",
		[]string{"outcome"}, nil)}
}

func (h *Hosts) Describe(ch chan<- *prometheus.Desc) { ch <- h.desc }

// A store that cannot be read leaves an error in place of the series.
func (h *Hosts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	n, err := h.store.Outcomes(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(h.desc, err)
		return
	}
	for _, o := range runs.Outcomes() {
		ch <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, float64(n[o]), string(o))
	}
}
