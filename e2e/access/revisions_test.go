package access

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestOneChangeOfARevision sends concurrent changes of the same revision: one succeeds, and the others fail with a
// conflict. The same holds for a deletion.
func TestOneChangeOfARevision(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		path := "/v1/users/" + made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "viewer"})
		tag := want(t, s.Client, http.MethodGet, path, nil, 200).Header.Get("ETag")
		var mu sync.Mutex
		seen := map[int]int{}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				a := s.Do(http.MethodPut, path, harness.Body{"title": "somebody"}, "If-Match", tag)
				mu.Lock()
				defer mu.Unlock()
				seen[a.Status]++
			})
		}
		wg.Wait()
		if seen[200] != 1 || seen[412] != 15 {
			t.Errorf("%v", seen)
		}
		want(t, s.Client, http.MethodDelete, path, nil, 412, "If-Match", tag)
		now := want(t, s.Client, http.MethodGet, path, nil, 200).Header.Get("ETag")
		want(t, s.Client, http.MethodDelete, path, nil, 204, "If-Match", now)
	})
}

// TestSessionsLastAsLongAsConfigured ends a session after --session-ttl, and no API token.
func TestSessionsLastAsLongAsConfigured(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--session-ttl", "3s"}})
	made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "viewer", "password": password})
	own, a := login(t, s.Client, "ola", password)
	ends, err := time.Parse(time.RFC3339, own.ExpiresAt)
	if left := time.Until(ends); a.Status != 200 || err != nil || left > 3*time.Second {
		t.Fatalf("login: %d, ends in %s, %v", a.Status, left, err)
	}
	harness.Eventually(t, 30*time.Second, "the session ends", func() bool {
		return s.As(own.Token).Do(http.MethodGet, "/v1/auth/me", nil).Status == http.StatusUnauthorized
	})
	if early := time.Until(ends); early > time.Second {
		t.Errorf("it ended %s too early", early)
	}
	want(t, s.Client, http.MethodGet, "/v1/auth/me", nil, 200)
}

// TestWorkers lists the executors of two servers, hides the names of queues that the reader may not see, and drops a
// server that stops.
func TestWorkers(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Options{Flags: []string{"--queue", "default", "--queue", "vault", "--name", "first",
		"--executors", "3"}})
	b := harness.Start(t, harness.Options{DB: a.DB, Admin: a.Admin, Flags: []string{"--name", "second"}})
	type worker struct {
		Name, Kind string
		Queues     []string
		Executors  int
		Fresh      bool
	}
	list := func(c harness.Client) (out []worker) {
		var body struct {
			Workers []worker `json:"workers"`
			Count   int      `json:"count"`
		}
		want(t, c, http.MethodGet, "/v1/workers", nil, 200).JSON(t, &body)
		return body.Workers
	}
	harness.Eventually(t, 30*time.Second, "both servers report", func() bool { return len(list(b.Client)) == 2 })
	viewer := join(t, a, "vic", "viewer")
	if got := list(viewer.Client); got[0].Name != "first" || got[0].Kind != "server" || !got[0].Fresh ||
		got[0].Executors != 3 || !slices.Equal(got[0].Queues, []string{"default", "vault"}) ||
		got[1].Name != "second" {
		t.Errorf("%+v", got)
	}
	grant(t, a, "user:"+join(t, a, "holder", "viewer").ID, "queue:vault", "read")
	if got := list(viewer.Client); !slices.Equal(got[0].Queues, []string{"default"}) {
		t.Errorf("a viewer reads the queues %v", got[0].Queues)
	}
	b.Stop()
	if got := list(a.Client); len(got) != 1 || got[0].Name != "first" || len(got[0].Queues) != 2 {
		t.Errorf("after a server has stopped: %+v", got)
	}
}
