package access

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// channel is a live channel that a test reads.
type channel struct {
	mu   sync.Mutex
	text strings.Builder
}

// listen opens the live channel of a caller and returns after its first event.
func listen(t *testing.T, c harness.Client) *channel {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/v1/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /v1/live: %v %v", resp, err)
	}
	ch := &channel{}
	go func() {
		defer func() { _ = resp.Body.Close() }()
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			ch.mu.Lock()
			ch.text.WriteString(sc.Text() + "\n")
			ch.mu.Unlock()
		}
	}()
	ch.awaits(t, "event: ready")
	return ch
}

func (c *channel) has(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.text.String(), text)
}

func (c *channel) awaits(t *testing.T, text string) {
	t.Helper()
	harness.Eventually(t, time.Minute, "the channel has "+text, func() bool { return c.has(text) })
}

// TestTheLiveChannelOfEveryServer makes runs through each of two servers on one database and listens at both: a reader
// of everything hears of each, and another reader only of those that it may read at that time.
func TestTheLiveChannelOfEveryServer(t *testing.T) {
	t.Parallel()
	url := harness.Postgres(t)
	a := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}})
	b := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}, Admin: a.Admin})
	owner, reader := join(t, a, "owner", "admin"), join(t, a, "reader", "viewer")
	grant(t, a, "user:"+owner.ID, "queue:vault", "use")
	granted := grant(t, a, "user:"+reader.ID, "queue:vault", "read")
	admins := []*channel{listen(t, a.Client), listen(t, b.Client)}
	readers := []*channel{listen(t, a.As(reader.Token)), listen(t, b.As(reader.Token))}
	all := append(append([]*channel{}, admins...), readers...)
	reaches := func(id string, list []*channel) {
		t.Helper()
		for _, c := range list {
			c.awaits(t, `"id":"`+id+`"`)
		}
	}
	for _, s := range []*harness.Server{a, b} {
		run := s.Submit(on("vault"))
		reaches(run.ID, all)
		want(t, s.Client, http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, 200)
		for _, c := range all {
			harness.Eventually(t, time.Minute, "the channel shows the end of "+run.ID, func() bool {
				return c.has(`"id":"` + run.ID + `","kind":"single","status":"canceled"`)
			})
		}
	}
	want(t, a.Client, http.MethodDelete, "/v1/grants/"+granted, nil, 204)
	hear := func(s *harness.Server) (heard bool) {
		secret, open := s.Submit(on("vault")), s.Submit(on("open"))
		reaches(secret.ID, admins)
		reaches(open.ID, all) // it was made after the other one
		for _, c := range readers {
			heard = heard || c.has(secret.ID)
		}
		return heard
	}
	harness.Eventually(t, time.Minute, "the messages end with the grant", func() bool { return !hear(a) })
	if hear(a) || hear(b) {
		t.Error("a reader who lost the grant hears of a run of the queue")
	}
}
