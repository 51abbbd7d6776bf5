package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
)

// Background counts the passes of background work in this process.
type Background struct {
	clock   clock.Clock
	passes  *prometheus.CounterVec
	seconds *prometheus.CounterVec
}

var (
	_ prometheus.Collector = (*Background)(nil)
	_ background.Observer  = (*Background)(nil)
)

// NewBackground makes the collector. It is safe for concurrent use.
func NewBackground(c clock.Clock) *Background {
	return &Background{
		clock: c,
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_background_passes_total", Help: "Passes of background work, by work and result."},
			[]string{"work", "result"}),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_background_seconds_total", Help: "Seconds that passes of background work took."}, []string{"work"}),
	}
}

// Describe sends the descriptions of the series.
func (b *Background) Describe(ch chan<- *prometheus.Desc) {
	b.passes.Describe(ch)
	b.seconds.Describe(ch)
}

// Collect sends the counts.
func (b *Background) Collect(ch chan<- prometheus.Metric) {
	b.passes.Collect(ch)
	b.seconds.Collect(ch)
}

// Pass counts and measures a pass.
func (b *Background) Pass(work string) func(error) {
	begun := b.clock.Now()
	return func(err error) {
		result := "ok"
		if err != nil {
			result = "failed"
		}
		b.passes.WithLabelValues(work, result).Inc()
		b.seconds.WithLabelValues(work).Add(max(0, b.clock.Now().Sub(begun).Seconds()))
	}
}
