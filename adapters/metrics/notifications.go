package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/notify"
)

// Notifications counts what became of notifications in this process.
type Notifications struct{ total *prometheus.CounterVec }

var _ prometheus.Collector = (*Notifications)(nil)

// NewNotifications makes the collector. It is safe for concurrent use. Every kind begins at nothing, so that the
// first one that fails is seen as a change.
func NewNotifications() *Notifications {
	n := &Notifications{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "writ_notifications_total", Help: "Notifications by kind of target and what became of them."},
		[]string{"kind", "result"})}
	for _, kind := range append(extension.NotificationKinds(), extensions) {
		for _, s := range []notify.Status{notify.Delivered, notify.Failed, notify.Skipped} {
			n.total.WithLabelValues(kind, string(s))
		}
	}
	return n
}

// extensions is the kind of all notifiers of extensions.
const extensions = "extension"

func (n *Notifications) Describe(ch chan<- *prometheus.Desc) { n.total.Describe(ch) }

func (n *Notifications) Collect(ch chan<- prometheus.Metric) { n.total.Collect(ch) }

// Count counts a notification that was delivered, failed or was skipped. All notifiers of extensions are one kind,
// whatever their names; what is of no kind counts as other, and what has not ended does not count.
func (n *Notifications) Count(o notify.Origin, kind string, s notify.Status) {
	if s != notify.Delivered && s != notify.Failed && s != notify.Skipped {
		return
	}
	if o == notify.OfExtension {
		kind = extensions
	} else if _, known := notify.KindOf(kind); !known {
		kind = "other"
	}
	n.total.WithLabelValues(kind, string(s)).Inc()
}
