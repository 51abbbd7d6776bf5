package relay

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestQueuesAndTokens: the shared token serves the queues without grants and those that the server names, and a worker
// gets runs of its own queues alone.
func TestQueuesAndTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "", "--worker-queue", "lab")
	grant := func(queue string) string {
		return w.made("/v1/grants", harness.Body{"subject": "user:" + w.me(), "object": "queue:" + queue, "level": "read"})
	}
	grant("lab")
	granted := grant("dmz")
	job := func(queue string) harness.Run {
		return w.Submit(harness.Body{"tool": "bash", "command": "echo " + queue, "queue": queue})
	}
	inner, closed, named, free := job("default"), job("dmz"), job("lab"), job("free")
	wrong := harness.LaunchWorker(t, harness.WorkerOptions{Server: w.URL, Token: "another-token-of-nobody-0123456789abc",
		Flags: []string{"--queue", "free"}})
	denied := harness.LaunchWorker(t, harness.WorkerOptions{Server: w.URL,
		Flags: []string{"--queue", "free", "--queue", "dmz"}})
	for what, p := range map[string]*harness.Worker{"does not take the worker token": wrong, "carries grants": denied} {
		harness.Eventually(t, time.Minute, "it says why: "+what, func() bool { return strings.Contains(p.Output(), what) })
	}
	if a := w.try(harness.WorkerToken, "x", 0, "dmz"); a.Status != http.StatusForbidden || a.reason != "queue_denied" {
		t.Errorf("a queue with grants: %d %s", a.Status, a.reason)
	}
	if r := w.Get(free.ID); r.Status != "pending" {
		t.Errorf("a worker that may not have it has the run: %s", r.Status)
	}
	w.worker("--queue", "lab", "--queue", "free")
	for _, r := range []harness.Run{named, free} {
		if r := w.Await(r.ID); r.Status != "succeeded" {
			t.Errorf("the run of an open queue: %s (%s)", r.Status, r.Error)
		}
	}
	for _, r := range []harness.Run{inner, closed} {
		if r := w.Get(r.ID); r.Status != "pending" {
			t.Errorf("a worker has the run of another queue: %s", r.Status)
		}
	}
	denied.Kill() // it asks again and would take the run
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/grants/"+granted, nil)
	if a := w.try(harness.WorkerToken, "x", 0, "dmz"); a.Status != http.StatusOK {
		t.Errorf("the queue without its grants: %d %s", a.Status, a.reason)
	}
	if strings.Contains(wrong.Output()+denied.Output()+w.Output(), harness.WorkerToken) {
		t.Error("the token is in a log")
	}
	every := newFixture(t, "", "--worker-queue", "*")
	every.made("/v1/grants", harness.Body{"subject": "user:" + every.me(), "object": "queue:dmz", "level": "read"})
	if a := every.try(harness.WorkerToken, "x", 0, "dmz"); a.Status != http.StatusNoContent {
		t.Errorf("every queue is open: %d %s", a.Status, a.reason)
	}
	strict := newFixture(t, "", "--strict-grants")
	if a := strict.try(harness.WorkerToken, "x", 0); a.Status != http.StatusForbidden || a.reason != "queue_denied" {
		t.Errorf("a queue without grants where grants are strict: %d %s", a.Status, a.reason)
	}
}

// tried is the answer to a claim with the reason of a refusal.
type tried struct {
	harness.Answer
	reason string
}

// try claims with a token under a name.
func (w *fixture) try(token, name string, wait int, queues ...string) tried {
	w.t.Helper()
	a, err := w.As(token).Try(http.MethodPost, "/relay/v1/claim", harness.Body{
		"worker": harness.Body{"name": name, "version": "1", "executors": 1}, "queues": queues, "wait_seconds": wait,
	})
	if err != nil {
		w.t.Error(err)
	}
	return tried{a, reasonOf(w.t, a)}
}

func reasonOf(t *testing.T, a harness.Answer) string {
	t.Helper()
	var p struct{ Reason string }
	if a.Status >= 400 {
		a.JSON(t, &p)
	}
	return p.Reason
}

// me returns the id of the caller's account.
func (w *fixture) me() string {
	w.t.Helper()
	user, _ := w.want(http.StatusOK, http.MethodGet, "/v1/auth/me", nil)["user"].(map[string]any)
	id, _ := user["id"].(string)
	return id
}

// mint makes the token of a worker and returns its id and its text.
func (w *fixture) mint(name string, expires int, queues ...string) (id, text string) {
	w.t.Helper()
	body := harness.Body{"name": name, "queues": queues}
	if expires > 0 {
		body["expires_in"] = expires
	}
	made := w.want(http.StatusCreated, http.MethodPost, "/v1/worker-tokens", body)
	id, _ = made["id"].(string)
	text, _ = made["token"].(string)
	return id, text
}

// TestWorkerTokens: an install with the token of one worker serves the relay to it, under its name and for its queues
// alone, until the token is revoked; then it is the install that it was.
// Keeps T47.
func TestWorkerTokens(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := serve(t, dbURL, nil)
		for _, token := range []string{"", harness.WorkerToken, w.Token, "writ_worker_" + strings.Repeat("A", 52)} {
			if a := w.try(token, "edge", 0); a.Status != http.StatusNotFound || a.reason != "relay_disabled" {
				t.Errorf("without a worker token the relay answers %d %s", a.Status, a.reason)
			}
		}
		w.made("/v1/grants", harness.Body{"subject": "user:" + w.me(), "object": "queue:dmz", "level": "use"})
		edgeID, edge := w.mint("edge", 3600, "dmz")
		_, other := w.mint("other", 0, "dmz", "lab")
		if a := w.Do(http.MethodPost, "/v1/worker-tokens", harness.Body{"name": "edge"}); a.Status != http.StatusConflict {
			t.Errorf("a second token of the name: %d %s", a.Status, a.Body)
		}
		for _, c := range []struct {
			token, name, queue, reason string
			status                     int
		}{
			{edge, "other", "dmz", "worker_name_denied", 403}, {edge, "Edge", "dmz", "worker_name_denied", 403},
			{other, "edge", "dmz", "worker_name_denied", 403}, {edge, "edge", "lab", "queue_denied", 403},
			{edge, "edge", "default", "queue_denied", 403}, {edge + "A", "edge", "dmz", "bad_worker_token", 401},
			{"", "edge", "dmz", "bad_worker_token", 401}, {w.Token, "edge", "dmz", "bad_worker_token", 401},
			{edgeID, "edge", "dmz", "bad_worker_token", 401}, {edge, "edge", "dmz", "", 204}, {other, "other", "lab", "", 204},
		} {
			if a := w.try(c.token, c.name, 0, c.queue); a.Status != c.status || a.reason != c.reason {
				t.Errorf("%.20s as %s for %s: %d %s", c.token, c.name, c.queue, a.Status, a.reason)
			}
		}
		w.noPlaceOfAnother(edge, other)

		bound := harness.StartWorker(t, harness.WorkerOptions{Server: w.URL, Token: edge,
			Flags: []string{"--name", "edge", "--queue", "dmz"}})
		r := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "echo bound", "queue": "dmz"}).ID)
		if r.Status != "succeeded" || r.Worker != "edge" || w.Log(r.ID) != "bound\n" {
			t.Errorf("%s by %s (%s)", r.Status, r.Worker, r.Error)
		}
		forger := harness.LaunchWorker(t, harness.WorkerOptions{Server: w.URL, Token: other,
			Flags: []string{"--name", "edge", "--queue", "dmz"}})
		harness.Eventually(t, time.Minute, "the other worker logs the refusal of its name", func() bool {
			return strings.Contains(forger.Output(), "made for the name")
		})
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/worker-tokens/"+edgeID, nil)
		harness.Eventually(t, time.Minute, "the revoked worker logs the refusal", func() bool {
			return strings.Contains(bound.Output(), "does not take the worker token")
		})
		if strings.Contains(bound.Output()+forger.Output()+w.Output(), "writ_worker_") {
			t.Error("a token is in a log")
		}
		w.Intact()
	})
}

// noPlaceOfAnother: what one worker claimed nobody else reports about, with its capability as little as without, nor
// waits for its cancels.
func (w *fixture) noPlaceOfAnother(edge, other string) {
	w.t.Helper()
	id := w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "dmz"}).ID
	var g grant
	w.try(edge, "edge", 0, "dmz").JSON(w.t, &g)
	w.SetLease(id, time.Hour)
	before := w.picture(id)
	for verb, c := range calls(g.Run.NextSeq) {
		path := "/relay/v1/runs/" + id + "/" + verb
		body := c.body
		if verb == "heartbeat" {
			path, body = "/relay/v1/heartbeat", harness.Body{"run_id": id}
		}
		a := w.As(other).Do(c.method, strings.TrimSuffix(path, "/"), body, "Relay-Capability", g.Capability)
		if reason := reasonOf(w.t, a); a.Status != http.StatusConflict || reason != "lease_lost" {
			w.t.Errorf("%s by another worker: %d %s", verb, a.Status, a.Body)
		}
	}
	a := w.As(other).Do(http.MethodPost, "/relay/v1/claim", harness.Body{"worker": harness.Body{"name": "edge",
		"executors": 1}, "queues": []string{"dmz"}, "cancels": true})
	if reason := reasonOf(w.t, a); a.Status != http.StatusForbidden || reason != "worker_name_denied" {
		w.t.Errorf("the cancels of another worker: %d %s", a.Status, a.Body)
	}
	if after := w.picture(id); after != before {
		w.t.Errorf("the run changed from\n%s\nto\n%s", before, after)
	}
	a = w.As(edge).Do(http.MethodPost, "/relay/v1/runs/"+id+"/save", harness.Body{"status": "running"},
		"Relay-Capability", g.Capability)
	if a.Status != http.StatusNoContent {
		w.t.Errorf("its own worker: %d %s", a.Status, a.Body)
	}
	a = w.As(edge).Do(http.MethodPost, "/relay/v1/runs/"+id+"/save", harness.Body{"status": "succeeded", "exit_code": 0},
		"Relay-Capability", g.Capability)
	if a.Status != http.StatusNoContent {
		w.t.Errorf("its own worker: %d %s", a.Status, a.Body)
	}
}

// TestRevokedWorker: a claim that waits ends, on another server too, every later call is refused, and the run that the
// worker held is interrupted.
// Keeps T47.
func TestRevokedWorker(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		id, text := w.mint("edge", 0, "dmz")
		run := w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "dmz"}).ID
		var g grant
		w.try(text, "edge", 0, "dmz").JSON(t, &g)
		if a := w.As(text).Do(http.MethodPost, "/relay/v1/runs/"+run+"/save", harness.Body{"status": "running"},
			"Relay-Capability", g.Capability); a.Status != http.StatusNoContent {
			t.Fatalf("the run begins: %d %s", a.Status, a.Body)
		}
		w.SetLease(run, time.Hour)
		waiting := make(chan tried, 2)
		for _, cancels := range []bool{false, true} {
			go func() {
				a, err := w.As(text).Try(http.MethodPost, "/relay/v1/claim", harness.Body{"worker": harness.Body{"name": "edge",
					"executors": 1}, "queues": []string{"dmz"}, "wait_seconds": 30, "cancels": cancels})
				if err != nil {
					t.Error(err)
				}
				waiting <- tried{a, reasonOf(t, a)}
			}()
		}
		harness.Eventually(t, time.Minute, "a claim waits", func() bool { return w.fleet()["edge"] != nil })
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/worker-tokens/"+id, nil)
		for range cap(waiting) {
			if a := <-waiting; a.Status != http.StatusUnauthorized || a.reason != "bad_worker_token" {
				t.Errorf("a claim that waited: %d %s", a.Status, a.reason)
			}
		}
		for verb, c := range calls(g.Run.NextSeq) {
			path := strings.TrimSuffix("/relay/v1/runs/"+run+"/"+verb, "/")
			if verb == "heartbeat" {
				path = "/relay/v1/heartbeat"
			}
			a := w.As(text).Do(c.method, path, c.body, "Relay-Capability", g.Capability)
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s after the revocation: %d %s", verb, a.Status, a.Body)
			}
		}
		w.SetLease(run, 0)
		if r := w.Until(run, time.Minute, harness.Run.Ended); r.Status != "interrupted" {
			t.Errorf("the run that it held is %s", r.Status)
		}
		w.want(http.StatusNotFound, http.MethodDelete, "/v1/worker-tokens/"+id, nil)
		_, brief := w.mint("brief", 1, "dmz")
		harness.Eventually(t, time.Minute, "a token expires", func() bool {
			return w.try(brief, "brief", 0, "dmz").reason == "bad_worker_token"
		})
		if a := w.try(harness.WorkerToken, "brief", 0, "dmz"); a.Status != http.StatusNoContent {
			t.Errorf("its name is free: %d %s", a.Status, a.reason)
		}
	})
}
