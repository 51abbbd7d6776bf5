package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// FollowAll is the feed of one run, which then ends.
func (f *fake) FollowAll(_ context.Context, after string, emit func(runs.FeedUpdate) error) error {
	r := run()
	for _, u := range []runs.FeedUpdate{{ID: "a-1", Ready: after == "", Reset: after != ""}, {ID: "a-2", Run: r},
		{ID: "a-3", Held: true, Count: 7}} {
		u.Text = &runs.Encoded{}
		if err := emit(u); err != nil {
			return err
		}
	}
	return nil
}

func TestLive(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, role := range []string{"viewer", "operator", "admin"} {
		a := f.call(http.MethodGet, "/v1/live", role, "")
		body := string(a.body)
		if a.status != http.StatusOK || !strings.Contains(body, "event: ready\nid: a-1\ndata: {}\n\n") ||
			!strings.Contains(body, "event: run\nid: a-2\ndata: {\"id\":\""+knownRun) ||
			!strings.Contains(body, "event: held\nid: a-3\ndata: {\"count\":7}\n\n") {
			t.Errorf("%s: %d %s", role, a.status, body)
		}
	}
	for _, c := range [][]string{{"/v1/live?after=x-1"}, {"/v1/live", "Last-Event-ID", "x-1"}} {
		a := f.call(http.MethodGet, c[0], "viewer", "", c[1:]...)
		if !strings.Contains(string(a.body), "event: reset\nid: a-1") {
			t.Errorf("%v: %s", c, a.body)
		}
	}
	f.call(http.MethodGet, "/v1/live?after="+strings.Repeat("x", 65), "viewer", "").problem(t, http.StatusBadRequest)
	f.call(http.MethodGet, "/v1/live", "", "").problem(t, http.StatusUnauthorized)
	f.call(http.MethodPost, "/v1/live-ticket", "", "").problem(t, http.StatusUnauthorized)
	ticket, _ := f.call(http.MethodPost, "/v1/live-ticket", "viewer", "").json(t, http.StatusOK)["ticket"].(string)
	if a := f.call(http.MethodGet, "/v1/live?ticket="+ticket, "", ""); a.status != http.StatusOK {
		t.Errorf("a ticket: %d %s", a.status, a.body)
	}
	f.call(http.MethodGet, "/v1/live?ticket="+ticket, "", "").problem(t, http.StatusUnauthorized)
}

// TestSessionsOpenStreams opens the streams by a session cookie, which only pages of the server may use to make
// tickets, and which alone opens nothing for other sites: a page of another origin cannot read the answer.
func TestSessionsOpenStreams(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.follow = func(_ context.Context, _, _ int64, emit func(runs.Update) error) error {
		return emit(runs.Update{End: true})
	}
	const session = "writ_session=viewer"
	for _, path := range []string{"/v1/live", streamPath} {
		a := f.call(http.MethodGet, path, "", "", "Cookie", session, "Sec-Fetch-Site", "same-origin")
		if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		other := f.call(http.MethodGet, path, "", "", "Cookie", session, "Origin", "https://evil.example",
			"Sec-Fetch-Site", "cross-site")
		for name := range other.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s lets another origin read the answer", path, name)
			}
		}
		f.call(http.MethodGet, path, "", "", "Cookie", "writ_session=nobody").problem(t, http.StatusUnauthorized)
		f.call(http.MethodGet, path, "", "", "Cookie", session+"; "+session).problem(t, http.StatusUnauthorized)
	}
	for _, path := range []string{"/v1/live-ticket", streamPath + "-ticket"} {
		f.call(http.MethodPost, path, "", "", "Cookie", session, "Sec-Fetch-Site", "same-origin").json(t, http.StatusOK)
		f.call(http.MethodPost, path, "", "", "Cookie", session, "Sec-Fetch-Site", "cross-site").
			problem(t, http.StatusForbidden)
		f.call(http.MethodPost, path, "", "", "Cookie", session, "Origin", "https://evil.example").
			problem(t, http.StatusForbidden)
	}
}
