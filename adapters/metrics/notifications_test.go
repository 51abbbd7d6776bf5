package metrics_test

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/notify"
)

func TestNotifications(t *testing.T) {
	t.Parallel()
	n := metrics.NewNotifications()
	n.Count(notify.OfRun, "slack", notify.Delivered)
	n.Count(notify.OfServer, "slack", notify.Delivered)
	n.Count(notify.OfServer, "pagerduty", notify.Skipped)
	n.Count(notify.OfRun, "email", notify.Failed)
	n.Count(notify.OfRun, "email", notify.Pending)
	for _, name := range []string{"siem", "a text of a user", "slack"} {
		n.Count(notify.OfExtension, name, notify.Failed)
	}
	n.Count(notify.OfRun, "a text of a user", notify.Failed)
	text := scrape(t, n)
	want(t, text, `writ_notifications_total{kind="slack",result="delivered"} 2`,
		`writ_notifications_total{kind="pagerduty",result="skipped"} 1`,
		`writ_notifications_total{kind="email",result="failed"} 1`,
		`writ_notifications_total{kind="extension",result="failed"} 3`,
		`writ_notifications_total{kind="other",result="failed"} 1`)
	if strings.Contains(text, "a text") || strings.Contains(text, "siem") || strings.Contains(text, `"pending"`) {
		t.Errorf("a label has a name: %s", text)
	}
}
