package relayclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

const (
	problemJSON = "application/problem+json"
	page        = "<html>nothing here</html>"
)

// reply is an answer as it is.
type reply struct {
	status      int
	media, body string
}

func problemReply(status int, reason string) reply {
	return reply{status, problemJSON + "; charset=utf-8",
		fmt.Sprintf(`{"status":%d,"error":"a sentence","reason":%q,"more":1}`, status, reason)}
}

func (r reply) give(w http.ResponseWriter) {
	w.Header().Set("Content-Type", r.media)
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(r.body))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply
		kind fault.Kind
		code string
	}{
		{problemReply(409, "lease_lost"), fault.Conflict, runs.LeaseLost.Name},
		{problemReply(409, "sequence_gap"), fault.Conflict, runs.SequenceGap.Name},
		{problemReply(409, "run_state_changed"), fault.Conflict, runs.RunStateChanged.Name},
		{problemReply(409, "of_tomorrow"), fault.Conflict, "of_tomorrow"},
		{problemReply(400, "invalid"), fault.Invalid, "invalid"},
		{problemReply(404, "run_not_found"), fault.NotFound, "run_not_found"},
		{problemReply(413, "too_large"), fault.TooLarge, "too_large"},
		// Temporary failures must not end a run.
		{problemReply(401, "bad_worker_token"), fault.Unavailable, execution.BadWorkerToken.Name},
		{problemReply(403, "not_allowed"), fault.Unavailable, "not_allowed"},
		{problemReply(404, "relay_disabled"), fault.Unavailable, execution.RelayDisabled.Name},
		{problemReply(404, "not_found"), fault.Unavailable, "not_found"}, // a path that the server does not serve
		{problemReply(405, "method_not_allowed"), fault.Unavailable, "method_not_allowed"},
		{problemReply(429, "rate_limited"), fault.Unavailable, "rate_limited"},
		{problemReply(500, "internal"), fault.Unavailable, "internal"},
		{problemReply(503, "unavailable"), fault.Unavailable, "unavailable"},
		{problemReply(505, "http_version_not_supported"), fault.Unavailable, "http_version_not_supported"},
		// Answers that do not come from the server.
		{reply{400, "text/plain", "400 Bad Request"}, fault.Unavailable, ""},
		{reply{404, "text/html", page}, fault.Unavailable, ""},
		{reply{409, "application/json", `{"reason":"lease_lost"}`}, fault.Unavailable, ""},
		{reply{409, problemJSON, `{"title":"Conflict","status":409}`}, fault.Unavailable, ""},
		{reply{409, problemJSON, `{"reason":"lease_lost"`}, fault.Unavailable, ""},
		{reply{409, problemJSON, `{"reason":"lease_lost","error":"` + strings.Repeat("x", 100<<10) + `"}`},
			fault.Unavailable, ""},
		{reply{413, "text/html", page}, fault.Unavailable, ""},
		{reply{502, "text/html", page}, fault.Unavailable, ""},
		{reply{200, "text/html", page}, fault.Unavailable, ""},
		{reply{301, "text/html", page}, fault.Unavailable, ""},
		{reply{407, "text/html", page}, fault.Unavailable, ""},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.code), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			a := w.claimed()
			w.fake.set(func() {
				w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool { c.give(rw); return true }
			})
			err := w.Begin(t.Context(), a.Lease)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind || f.Code != c.code || f.Message == "" {
				t.Fatalf("%v (%+v)", err, f)
			}
			if over := c.kind != fault.Unavailable; over != (len(w.files()) == 0) {
				t.Errorf("over: %v, on disk: %v", over, w.files())
			}
		})
	}
}

func TestSuccesses(t *testing.T) {
	t.Parallel()
	const future = `{"next_offset":7,"next_seq":9,"lease_seconds":30,"cancel_requested":true,"of_tomorrow":{"a":[1]}}`
	for _, c := range []struct {
		reply
		save, read bool // the call that expects nothing, the one that expects an offset
	}{
		{reply{204, "", ""}, true, false},
		{reply{200, "", ""}, true, false},
		{reply{200, "application/json", future}, true, true},
		{reply{201, "application/json; charset=utf-8", future}, true, true},
		{reply{200, "application/json", `{"next_offset":"x"}`}, true, false},
		{reply{200, "application/json", `{"next_offset":7`}, true, false},
		{reply{200, "application/json", future + future}, true, false},
		{reply{200, "text/plain", future}, false, false},
		{reply{200, "application/json", `{"pad":"` + strings.Repeat("x", 2<<20) + `"}`}, false, false},
	} {
		w := newFixture(t, nil)
		a := w.claimed()
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool { c.give(rw); return true }
		})
		if err := w.Begin(t.Context(), a.Lease); c.save != (err == nil) || err != nil && !fault.Is(err, fault.Unavailable) {
			t.Errorf("%d %s %.20s: %v", c.status, c.media, c.body, err)
		}
		next, err := w.AppendLog(t.Context(), a.Lease, runs.LogChunk{})
		if c.read != (err == nil) || err == nil && next != 7 || err != nil && !fault.Is(err, fault.Unavailable) {
			t.Errorf("%d %s %.20s: %d, %v", c.status, c.media, c.body, next, err)
		}
	}
}

func TestClaimsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply
		kind fault.Kind
	}{
		{problemReply(403, execution.QueueDenied.Name), fault.Forbidden},
		{problemReply(403, execution.WorkerNameDenied.Name), fault.Forbidden},
		{problemReply(403, "forbidden"), fault.Unavailable},
		{problemReply(401, execution.BadWorkerToken.Name), fault.Unavailable},
		{problemReply(404, execution.RelayDisabled.Name), fault.Unavailable},
		{problemReply(400, "invalid"), fault.Invalid},
		{reply{200, "text/html", page}, fault.Unavailable},
		{reply{200, "application/json", `{"run":`}, fault.Unavailable},
		{reply{200, "", ""}, fault.Unavailable},
	} {
		w := newFixture(t, nil)
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool { c.give(rw); return true }
		})
		a, err := w.Claim(t.Context(), runs.ClaimRequest{})
		if a != nil || !fault.Is(err, c.kind) || c.kind == fault.Forbidden &&
			!execution.QueueDenied.Is(err) && !execution.WorkerNameDenied.Is(err) {
			t.Errorf("%d %s: %+v, %v", c.status, c.media, a, err)
		}
	}
}

// Errors omit secrets, also if the server or a proxy returns them.
func TestProofsAreNotDisclosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.claimed()
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
			rw.Header().Set("Retry-After", "17")
			text := r.Header.Get("Authorization") + " " + r.Header.Get(execution.CapabilityHeader)
			reply{400, problemJSON, fmt.Sprintf(`{"reason":"invalid","error":%q,"errors":[{"location":"a","message":%q}]}`, text,
				text)}.give(rw)
			return true
		}
	})
	err := w.Begin(t.Context(), a.Lease)
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) != 1 || f.RetryAfter != 17*time.Second {
		t.Fatalf("%v", err)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", f, f.Fields)} {
		if strings.Contains(text, token) || strings.Contains(text, "capability-of-") {
			t.Errorf("a proof is told: %s", text)
		}
	}
}

func TestOutOfReach(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.claimed()
	w.fake.set(func() { w.fake.after = func(*http.Request) bool { return true } })
	if err := w.Begin(t.Context(), a.Lease); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an answer that broke off: %v", err)
	}
	stuck := make(chan struct{})
	defer close(stuck)
	w.fake.set(func() {
		w.fake.instead = func(http.ResponseWriter, *http.Request, []byte) bool { <-stuck; return true }
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waittest.Eventually(t, 20*time.Second, "no call came", func() bool { return len(w.fake.calls("/log")) == 1 })
		cancel()
	}()
	if _, err := w.AppendLog(ctx, a.Lease, runs.LogChunk{}); !fault.Is(err, fault.Unavailable) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w.cfg.Server = gone.URL
	w.again()
	if _, err := w.Leased(t.Context(), worker); !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), token) {
		t.Errorf("nobody there: %v", err)
	}
	w.kept(a.Lease.RunID)
}
