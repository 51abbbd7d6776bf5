package notify

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// pagerDutyEvents is the path of the Events API of PagerDuty.
	pagerDutyEvents = "https://events.pagerduty.com"
	// pagerDutySummary bounds a summary in characters.
	pagerDutySummary = 1024
)

// pagerDuty triggers incidents by the Events API, version 2.
type pagerDuty struct {
	post    *poster
	address string
}

var _ notify.Channel = (*pagerDuty)(nil)

func newPagerDuty(address string, p *poster) (*pagerDuty, error) {
	u, err := base("pagerduty", cmp.Or(address, pagerDutyEvents))
	if err != nil {
		return nil, err
	}
	return &pagerDuty{post: p, address: u.JoinPath("v2", "enqueue").String()}, nil
}

func (*pagerDuty) Kind() string { return "pagerduty" }

// Deliver triggers an incident. Its deduplication key is the run, so another try creates no second incident.
func (c *pagerDuty) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	r := reportOf(m)
	details := object{}
	for _, f := range r.facts {
		details[f.label] = f.value
	}
	event := object{
		"summary": truncate(r.title, pagerDutySummary, plain), "source": "writ", "severity": severity(m.Run.Status),
		"custom_details": details,
	}
	if at := r.when(); !at.IsZero() {
		event["timestamp"] = at.UTC().Format(time.RFC3339Nano)
	}
	return c.post.sendJSON(ctx, request{kind: c.Kind(), address: c.address,
		secrets: []string{to.Key.Reveal(), url.QueryEscape(to.Key.Reveal())}}, object{
		"routing_key": to.Key.Reveal(), "event_action": "trigger", "dedup_key": r.run, "payload": event, "client": "Writ",
	})
}

// severity is critical if the results of the hosts are unknown.
func severity(s runs.Status) string {
	switch s {
	case runs.Interrupted:
		return "critical"
	case runs.Failed:
		return "error"
	default:
		return "info"
	}
}
