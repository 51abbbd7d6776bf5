package metrics

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// Fleet is the part of the store of workers that a scrape reads.
type Fleet interface {
	Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error)
}

// Workers collects how many executors there are.
type Workers struct {
	store Fleet
	desc  *prometheus.Desc
}

var _ prometheus.Collector = (*Workers)(nil)

// NewWorkers makes the collector over a store.
func NewWorkers(store Fleet) *Workers {
	return &Workers{store: store, desc: prometheus.NewDesc("writ_workers", "Executors by kind, and whether they report.",
		[]string{"kind", "fresh"}, nil)}
}

func (w *Workers) Describe(ch chan<- *prometheus.Desc) { ch <- w.desc }

// A store that cannot be read leaves an error in place of the series. Of more workers than a list holds the rest is
// left out.
func (w *Workers) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	list, _, err := w.store.Workers(ctx, page.Window{})
	if err != nil {
		ch <- prometheus.NewInvalidMetric(w.desc, err)
		return
	}
	type key struct {
		kind  execution.WorkerKind
		fresh bool
	}
	n := map[key]int{}
	for _, one := range list {
		n[key{one.Kind, one.Fresh}]++
	}
	for k, v := range n {
		ch <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, float64(v), string(k.kind),
			strconv.FormatBool(k.fresh))
	}
}
