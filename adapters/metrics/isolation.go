package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/execution"
)

// Isolation collects how far this process keeps its runs apart.
type Isolation struct {
	boundary execution.Boundary
	desc     *prometheus.Desc
}

var _ prometheus.Collector = (*Isolation)(nil)

// NewIsolation makes the collector of a boundary.
func NewIsolation(b execution.Boundary) *Isolation {
	return &Isolation{boundary: b, desc: prometheus.NewDesc("writ_isolation_level",
		"How far runs of this process are kept apart: 3 namespaces, 2 users, 1 landlock, 0 none.", []string{"level"}, nil)}
}

func (i *Isolation) Describe(ch chan<- *prometheus.Desc) { ch <- i.desc }

func (i *Isolation) Collect(ch chan<- prometheus.Metric) {
	level := i.boundary.Isolation().Level
	ch <- prometheus.MustNewConstMetric(i.desc, prometheus.GaugeValue, float64(boundary.Level(level).Strength()), level)
}
