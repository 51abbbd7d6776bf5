package notify

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// metric returns the value of a metric with these labels, "" if it is missing.
func (w *fixture) metric(series string) string {
	w.t.Helper()
	for line := range strings.Lines(string(w.answer(http.StatusOK, http.MethodGet, "/metrics", nil).Body)) {
		if v, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// drops waits for a log line about each dropped notification, which follows the stored result.
func (w *fixture) drops(n int) {
	w.t.Helper()
	lines := func() int { return strings.Count(w.Output(), "a notification was dropped") }
	harness.Eventually(w.t, awhile, fmt.Sprintf("%d lines about what was dropped", n), func() bool { return lines() >= n })
	if got := lines(); got != n {
		w.t.Errorf("%d lines about what was dropped, want %d", got, n)
	}
}

// TestThreeTries checks that all tries have the same delivery id, and that a final failure gives one log line and one
// count.
// Keeps F34.
func TestThreeTries(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/flaky") && n == 3:
				w.WriteHeader(http.StatusNoContent)
			case r.URL.Path == "/elsewhere":
				http.Redirect(w, r, "/landed", http.StatusTemporaryRedirect)
			case r.URL.Path == "/landed":
			default:
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, "no, "+r.URL.RequestURI()+" failed\x1b[31m\n")
			}
		})
		w := newFixture(t, harness.Options{DB: dbURL})
		id := w.Submit(script("true", hook(in.URL+"/flaky?k=c4nary"), hook(in.URL+"/broken?k=c4nary"),
			hook(in.URL+"/elsewhere"), failing(hook(in.URL+"/flaky2")))).ID
		w.ends(id, "succeeded")
		for _, n := range w.settled(id, 4) {
			if n.Status == "skipped" {
				continue
			}
			var path string
			for _, l := range in.all() {
				if l.header.Get("Writ-Delivery") == n.ID && l.path != "/landed" {
					path = l.path
				}
			}
			want := map[string]string{"/flaky?k=c4nary": "delivered 3", "/broken?k=c4nary": "failed 3",
				"/elsewhere": "delivered 1"}[path]
			if want == "" || n.brief() != "run.finished run webhook "+want {
				t.Errorf("%s: %+v", path, n)
			}
			if n.Status == "failed" && (!strings.Contains(n.Reason, "500") || strings.Contains(n.Reason, "c4nary") ||
				strings.Contains(n.Reason, "\x1b")) {
				t.Errorf("the reason is %q", n.Reason)
			}
		}
		for path, n := range map[string]int{"/flaky?k=c4nary": 3, "/broken?k=c4nary": 3, "/elsewhere": 1, "/landed": 1} {
			if got := in.at(path); len(got) != n || slices.ContainsFunc(got, func(l letter) bool {
				return l.header.Get("Writ-Delivery") != got[0].header.Get("Writ-Delivery") || string(l.body) != string(got[0].body)
			}) {
				t.Errorf("%d letters came to %s, want %d equal ones", len(got), path, n)
			}
		}
		if w.drops(1); strings.Contains(w.Output(), "c4nary") {
			t.Errorf("the log shows a target:\n%s", w.Output())
		}
		for result, n := range map[string]string{"delivered": "2", "failed": "1", "skipped": "1"} {
			series := fmt.Sprintf(`writ_notifications_total{kind="webhook",result=%q}`, result)
			harness.Eventually(t, awhile, series+" is "+n, func() bool { return w.metric(series) == n })
		}
	})
}

// TestReceiversThatHang checks that receivers which hang, or send endlessly, delay neither the run, nor other
// deliveries, nor the server's shutdown.
// Keeps F34.
func TestReceiversThatHang(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		const stuckRuns = 12
		var poured, hung, most, givenUp atomic.Int64
		good := newSink(t, nil)
		slow := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), hung.Add(1)))
			defer hung.Add(-1)
			hangs(n, w, r)
			givenUp.Add(1)
		})
		flood := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			code := http.StatusOK
			if r.URL.Path == "/error" {
				code = http.StatusBadGateway
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			for chunk, n := make([]byte, 64<<10), 0; n < 1<<30; n += len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					return
				}
				poured.Add(int64(len(chunk)))
			}
		})
		w := newFixture(t, harness.Options{DB: dbURL})
		stuck := script("true", hook(slow.URL+"/hang"), hook(flood.URL+"/ok"), hook(flood.URL+"/error"))
		for range stuckRuns {
			w.ends(w.Submit(stuck).ID, "succeeded")
		}
		other := w.Submit(script("true", hook(good.URL+"/good"))).ID
		good.await("/good", 1)
		if n := givenUp.Load(); n >= stuckRuns {
			t.Errorf("the runs or another receiver waited until %d tries of one that hangs were given up", n)
		}
		w.settled(other, 1)
		flood.await("/error", 1)
		slow.await("/hang", 1)
		if code := w.Stop(); code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		if n := most.Load(); n > 2*2 { // two at once, and two of which the receiver has not yet heard that they were given up
			t.Errorf("%d tries at once of one target", n)
		}
		if n := poured.Load(); n > 256<<20 {
			t.Errorf("%d MiB were listened to", n>>20)
		}
	})
}

// TestAKilledServerGoesOn kills the server during a try, and while a receiver is down.
func TestAKilledServerGoesOn(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				hangs(n, w, r)
			}
		})
		gone := sinkAt(t, "127.77.1."+fmt.Sprint(1+count(dbURL != ""))+":0",
			nil) // an address that only this test uses, so that no other process takes the port meanwhile
		away := gone.Listener.Addr().String()
		gone.Close()
		w := newFixture(t, harness.Options{DB: dbURL})
		id := w.Submit(script("true", hook(in.URL+"/killed"), hook("http://"+away+"/away"))).ID
		w.ends(id, "succeeded")
		in.await("/killed", 1)
		harness.Eventually(t, awhile, "a try failed", func() bool {
			return slices.ContainsFunc(w.notifications(id), func(n notification) bool {
				return n.Status == "pending" && strings.Contains(n.Reason, "refuses the connection")
			})
		})
		w.Kill()
		back := sinkAt(t, away, nil)
		w.again()
		list := in.await("/killed", 2)
		back.await("/away", 1)
		if a, b := list[0].header.Get("Writ-Delivery"), list[1].header.Get("Writ-Delivery"); a == "" || a != b {
			t.Errorf("the delivery was %q and is %q", a, b)
		}
		for _, n := range w.settled(id, 2) {
			if n.Status != "delivered" || n.Attempts < 2 || n.Attempts > 3 {
				t.Errorf("%+v", n)
			}
		}
		if a, b := len(in.all()), len(back.all()); a != 2 || b != 1 {
			t.Errorf("%d and %d letters came", a, b)
		}
	})
}

// TestTheEndWaitsForATry checks that a running try completes when the server is stopped.
func TestTheEndWaitsForATry(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		release := make(chan struct{})
		in := newSink(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
				t.Error("the server gave up")
			}
		})
		w := newFixture(t, harness.Options{DB: dbURL})
		id := w.Submit(script("true", hook(in.URL+"/slow"))).ID
		in.await("/slow", 1)
		w.Signal(syscall.SIGTERM)
		harness.Eventually(t, awhile, "the server drains", func() bool {
			return strings.Contains(w.Output(), "msg=draining")
		})
		close(release)
		if code := w.Wait(30 * time.Second); code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		w.again()
		same(t, "after the next start", w.summary(id, 1), "run.finished run webhook delivered 1")
		if got := in.all(); len(got) != 1 {
			t.Errorf("%d letters came", len(got))
		}
	})
}

// TestFourServersTellOnce runs four servers over the same deliveries.
func TestFourServersTellOnce(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL == "" {
			return // one server owns an SQLite file
		}
		in := newSink(t, nil)
		server := []string{"--notify-webhook", in.URL + "/server"}
		w := newFixture(t, harness.Options{DB: dbURL, Flags: server})
		all := []*fixture{w}
		for range 3 {
			all = append(all, newFixture(t, harness.Options{
				DB: dbURL, Admin: w.Admin, Flags: append(slices.Clone(server), "--encryption-key-file",
					w.Dir+"/data/encryption.key"),
			}))
		}
		each := depthtest.Of(4, 15)
		var ids []string
		for range each {
			for i, at := range all {
				ids = append(ids, at.Submit(script("true", hook(in.URL+fmt.Sprint("/run", i)), failing(hook(in.URL+"/failures")))).
					ID)
			}
		}
		for i, id := range ids {
			at := all[(i+1)%len(all)]
			at.ends(id, "succeeded")
			same(t, id, at.summary(id, 3), "run.finished run webhook delivered 1", "run.finished run webhook skipped 0",
				"run.finished server webhook delivered 1")
		}
		seen := map[string]int{}
		for _, l := range in.all() {
			seen[l.header.Get("Writ-Delivery")]++
		}
		for d, n := range seen {
			if n != 1 {
				t.Errorf("%s was sent %d times", d, n)
			}
		}
		if len(seen) != 2*len(ids) {
			t.Errorf("%d deliveries of %d", len(seen), 2*len(ids))
		}
	})
}
