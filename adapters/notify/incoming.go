package notify

import (
	"context"

	"github.com/writ-automation/writ/ports/notify"
)

// incoming sends to the incoming webhook of a chat service: an address that is itself the secret.
type incoming struct {
	kind string
	post *poster
	body func(report) object
}

var _ notify.Channel = (*incoming)(nil)

func (c *incoming) Kind() string { return c.kind }

// Deliver posts the message of the service.
func (c *incoming) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	return c.post.sendJSON(ctx, request{kind: c.kind, address: to.URL.Reveal()}, c.body(reportOf(m)))
}

// fields is the table of an attachment in Slack's form, which others accept too.
func fields(r report, esc escaper) []object {
	out := []object{}
	for _, f := range r.facts {
		out = append(out, object{"title": f.label, "value": f.in(2*maxSentence, esc), "short": !f.long()})
	}
	return out
}
