package relay_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// FuzzReports sends bodies to each call of the relay. Each is taken or refused with a reason, and one that is refused
// reaches no port.
func FuzzReports(f *testing.F) {
	for id, bodies := range bad() {
		for body := range bodies {
			f.Add(id, []byte(body))
		}
	}
	for _, body := range []string{"", "{", "[]", "null", `{"a":1}{}`, "\xff", `{"worker":{"name":"w","executors":1}}`} {
		for id := range table() {
			f.Add(id, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		w := setup(t)
		for _, c := range w.calls(t) {
			if c.id != id || c.method != http.MethodPost {
				continue
			}
			a := w.report(c.method, c.path, string(body))
			if a.Status == table()[id] {
				return
			}
			var problem struct{ Reason string }
			if a.Status < 400 || a.Status > 499 || json.Unmarshal([]byte(a.Body), &problem) != nil || problem.Reason == "" {
				t.Errorf("%s %q: %d %s", id, body, a.Status, a.Body)
			}
			if n := len(w.plane.take()); n > 0 {
				t.Errorf("%s %q: refused, and %d calls", id, body, n)
			}
		}
	})
}
