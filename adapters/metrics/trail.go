package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Chain is the part of the audit trail that a scrape reads.
type Chain interface {
	Size(ctx context.Context) (int64, error)
}

// Trail collects how long the audit trail is.
type Trail struct {
	chain Chain
	desc  *prometheus.Desc
}

var _ prometheus.Collector = (*Trail)(nil)

// NewTrail makes the collector over a trail.
func NewTrail(c Chain) *Trail {
	return &Trail{chain: c, desc: prometheus.NewDesc("writ_audit_entries", "Entries of the audit trail.", nil, nil)}
}

func (t *Trail) Describe(ch chan<- *prometheus.Desc) { ch <- t.desc }

// A store that cannot be read leaves an error in place of the series.
func (t *Trail) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	n, err := t.chain.Size(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(t.desc, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, float64(n))
}
