package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/estate"
)

// DriftCounter is the part of the store of drift that a scrape reads.
type DriftCounter interface {
	Counts(ctx context.Context) (estate.DriftCounts, error)
}

// Drift collects how much drifts, and what is known of the hosts.
type Drift struct {
	store        DriftCounter
	found, hosts *prometheus.Desc
}

var _ prometheus.Collector = (*Drift)(nil)

// NewDrift makes the collector over a store.
func NewDrift(store DriftCounter) *Drift {
	return &Drift{store: store,
		found: prometheus.NewDesc("writ_drift", "Resources that drift.",
			[]string{"confidence"}, nil),
		hosts: prometheus.NewDesc("writ_drift_hosts", "Hosts that dry runs reached.", []string{"state"}, nil)}
}

func (d *Drift) Describe(ch chan<- *prometheus.Desc) {
	ch <- d.found
	ch <- d.hosts
}

// A store that cannot be read leaves an error in place of the series.
func (d *Drift) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	n, err := d.store.Counts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(d.found, err)
		return
	}
	for _, c := range estate.Confidences() {
		ch <- prometheus.MustNewConstMetric(d.found, prometheus.GaugeValue, float64(n.Findings[c]), string(c))
	}
	for state, hosts := range map[string]int{"drifting": n.Drifting, "clean": n.Clean,
		"unknown": n.Hosts - n.Drifting - n.Clean} {
		ch <- prometheus.MustNewConstMetric(d.hosts, prometheus.GaugeValue, float64(hosts), state)
	}
}
