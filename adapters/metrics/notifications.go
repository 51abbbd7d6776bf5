package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/notify"
)

// Notifications counts what became of notifications in this process.
type Notifications struct{ total *prometheus.CounterVec }

var _ prometheus.Collector = (*Notifications)(nil)

// NewNotifications makes the collector. It is safe for concurrent use.
func NewNotifications() *Notifications {
	return &Notifications{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "writ_notifications_total", Help: "Notifications by kind of target and what became of them."}, []string{"kind", "result"})}
}

// Describe implements prometheus.Collector.
func (n *Notifications) Describe(ch chan<- *prometheus.Desc) { n.total.Describe(ch) }

// Collect implements prometheus.Collector.
func (n *Notifications) Collect(ch chan<- prometheus.Metric) { n.total.Collect(ch) }

// Count counts a notification that was delivered, failed or was skipped. All notifiers of extensions are one kind, whatever their names;
// what is of no kind counts as other, and what has not ended does not count.
func (n *Notifications) Count(o notify.Origin, kind string, s notify.Status) {
	if s != notify.Delivered && s != notify.Failed && s != notify.Skipped {
		return
	}
	if o == notify.OfExtension {
		kind = "extension"
	} else if _, known := notify.KindOf(kind); !known {
		kind = "other"
	}
	n.total.WithLabelValues(kind, string(s)).Inc()
}
