package notify

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/notify"
)

// annotations is the path of the API for annotations.
const annotations = "/api/annotations"

// grafana adds annotations by the API of an instance.
type grafana struct{ post *poster }

var _ notify.Channel = (*grafana)(nil)

func (*grafana) Kind() string { return "grafana" }

// Deliver posts an annotation over the time of the run, or at the time of the event. Grafana shows its text as HTML.
func (c *grafana) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	u, err := url.Parse(to.URL.Reveal())
	if err != nil {
		return notify.Refused.New("the url of the grafana target is not an address")
	}
	path := strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(path, annotations) {
		u = u.JoinPath(annotations)
	} else {
		u.Path, u.RawPath = path, ""
	}
	r := reportOf(m)
	text := truncate(r.title, 2*maxSentence, forHTML)
	for _, f := range r.facts {
		text += "\n" + f.label + ": " + f.in(4*maxSentence, forHTML)
	}
	body := object{"text": text, "tags": []string{"writ", "event:" + headerToken(string(m.Event)),
		"status:" + headerToken(string(m.Run.Status))}}
	begin := firstTime(r.began, m.Run.CreatedAt, r.ended)
	if !begin.IsZero() {
		body["time"] = begin.UnixMilli()
		body["timeEnd"] = firstTime(r.ended, begin).UnixMilli()
	}
	return c.post.sendJSON(ctx, request{
		kind: c.Kind(), address: u.String(), header: map[string]string{"Authorization": "Bearer " + to.Key.Reveal()},
		secrets: []string{to.Key.Reveal()},
	}, body)
}

// firstTime is the first time that is not zero.
func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
