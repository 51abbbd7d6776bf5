package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// DeadLetters collects how many events a subscriber did not handle.
type DeadLetters struct {
	store system.DeadLetterStore
	desc  *prometheus.Desc
}

var _ prometheus.Collector = (*DeadLetters)(nil)

// NewDeadLetters makes the collector over a store.
func NewDeadLetters(store system.DeadLetterStore) *DeadLetters {
	return &DeadLetters{
		store: store,
		desc:  prometheus.NewDesc("writ_dead_letters", "Events that a subscriber did not handle.", nil, nil),
	}
}

// Describe sends the description of the metric.
func (d *DeadLetters) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }

// Collect counts the letters. A store that cannot be read leaves an error in place of the metric.
func (d *DeadLetters) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	_, total, err := d.store.ListDeadLetters(ctx, page.Window{Limit: 1})
	if err != nil {
		ch <- prometheus.NewInvalidMetric(d.desc, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, float64(total))
}
