package contract

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// TestIdempotency repeats requests with idempotency keys, sequentially and concurrently.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		by := tokens(t, s)
		steps := harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true"}}, "queue": "parked"}
		for path, body := range map[string]any{"/v1/runs": bash("true"), "/v1/pipelines": steps} {
			ids := make([]string, 8)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() { ids[i] = keyed(t, s.Client, path, body, "one").ID })
			}
			wg.Wait()
			for _, id := range ids {
				if id == "" || id != ids[0] {
					t.Fatalf("%s: one key made %v", path, ids)
				}
			}
			a := s.Do(http.MethodPost, path, body, "Idempotency-Key", "one")
			if a.Status != 201 || a.Header.Get("Idempotent-Replay") != "true" || a.Header.Get("Location") != "/v1/runs/"+ids[0] {
				t.Errorf("%s again: %d %v", path, a.Status, a.Header)
			}
			if a := s.Do(http.MethodPost, path, body, "Idempotency-Key", "two"); a.Status != 201 ||
				a.Header.Get("Idempotent-Replay") != "" {
				t.Errorf("%s with another key: %d %v", path, a.Status, a.Header)
			}
			if other := keyed(t, s.As(by[identity.Operator]), path, body, "one"); other.ID == ids[0] {
				t.Errorf("%s: the key of another caller", path)
			}
		}
		if keyed(t, s.Client, "/v1/runs", ` { "command" : "true", "tool":"bash" } `, "one").ID == "" {
			t.Error("white space made it another request")
		}
		p := refused(t, "another body", s.Do(http.MethodPost, "/v1/runs", bash("false"), "Idempotency-Key", "one"), 409)
		if p.Reason != "idempotency_key_reused" {
			t.Errorf("reason %q", p.Reason)
		}
		long := strings.Repeat("k", 255)
		keyed(t, s.Client, "/v1/runs", bash("true"), long)
		p = refused(t, "a long key", s.Do(http.MethodPost, "/v1/runs", bash("true"), "Idempotency-Key", long+"k"), 400)
		if p.at() != "Idempotency-Key" {
			t.Errorf("at %q", p.at())
		}
		// A refused request does not use up its key.
		refused(t, "a bad request", s.Do(http.MethodPost, "/v1/runs", bash(""), "Idempotency-Key", "three"), 400)
		keyed(t, s.Client, "/v1/runs", bash("true"), "three")
	})
}

func keyed(t *testing.T, c harness.Client, path string, body any, key string) harness.Run {
	t.Helper()
	a, err := c.Try(http.MethodPost, path, body, "Idempotency-Key", key)
	var r harness.Run
	if err != nil || a.Status != 201 {
		t.Errorf("POST %s: %v %d %s", path, err, a.Status, a.Body)
		return r
	}
	a.JSON(t, &r)
	return r
}
