package notify

import (
	"context"
	"mime"

	"github.com/writ-automation/writ/ports/notify"
)

// ntfyBody bounds a message in bytes; ntfy converts a message above 4096 to a file.
const ntfyBody = 4096

// ntfy publishes to a topic. The address is used unchanged, since a topic may be anywhere below a server.
type ntfy struct{ post *poster }

var _ notify.Channel = (*ntfy)(nil)

func (*ntfy) Kind() string { return "ntfy" }

// Deliver posts the report as plain text, with the other fields of ntfy in headers. Titles that are not ASCII are
// encoded words of RFC 2047, which ntfy decodes.
func (c *ntfy) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	r := reportOf(m)
	priority := "default"
	if r.urgent {
		priority = "high"
	}
	return c.post.send(ctx, request{
		kind: c.Kind(), address: to.URL.Reveal(), media: "text/plain; charset=utf-8", body: cutBytes(r.lines(), ntfyBody),
		header: map[string]string{
			"Title": mime.BEncoding.Encode("utf-8", headerText(r.title)), "Priority": priority,
			"Tags": map[tone]string{good: "white_check_mark", bad: "x", neutral: "warning", waiting: "hourglass"}[r.tone],
		},
	})
}

// cutBytes keeps whole characters of at most that many bytes.
func cutBytes(s string, most int) []byte {
	for len(s) > most {
		runes := []rune(s)
		s = string(runes[:len(runes)-max(1, (len(s)-most)/4)])
	}
	return []byte(s)
}
