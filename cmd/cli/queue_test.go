package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// queueServer has three queues in pages of two, refuses the queue "no", and records the limits.
func queueServer(t *testing.T) (url string, did func() []string) {
	t.Helper()
	var mu sync.Mutex
	var calls []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/queues", func(w http.ResponseWriter, r *http.Request) {
		page := `{"name":"default","max_concurrent":0,"pending":12,"running":3,"workers":1},` +
			`{"name":"dmz\u001b[2J","max_concurrent":4,"pending":0,"running":4,"workers":2}`
		if r.URL.Query().Get("offset") == "2" {
			page = `{"name":"site/berlin:1","max_concurrent":10000,"pending":0,"running":0,"workers":0}`
		}
		_, _ = fmt.Fprintf(w, `{"queues":[%s],"count":2,"total":3}`, page)
	})
	mux.HandleFunc("PUT /v1/queues/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		calls = append(calls, r.PathValue("name")+" "+strings.TrimSpace(string(body)))
		mu.Unlock()
		if r.PathValue("name") == "no" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":"admins limit queues","reason":"forbidden"}`)
			return
		}
		_, _ = io.WriteString(w, `{"name":"x","max_concurrent":1,"pending":0,"running":0,"workers":0}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return calls }
}

func TestQueueCommands(t *testing.T) {
	t.Parallel()
	url, did := queueServer(t)
	call := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: []string{"WRIT_SERVER=" + url}}, append([]string{"queue"}, args...))
		return code, o.String(), e.String()
	}
	code, out, errs := call("list")
	if code != exitDone || strings.Count(out, "\n") != 4 || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, "10000") {
		t.Errorf("list: %d\n%s%s", code, out, errs)
	}
	if code, out, _ := call("list", "--json"); code != exitDone || !strings.Contains(out, `"count": 3`) ||
		!strings.Contains(out, `"max_concurrent": 4`) {
		t.Errorf("list --json: %d %s", code, out)
	}
	if code, out, errs := call("set", "site/berlin:1", "no", "dmz", "--max-concurrent", "4"); code != exitFailed ||
		out != "limited site/berlin:1\nlimited dmz\n" || !strings.Contains(errs, "no: admins limit queues") {
		t.Errorf("set: %d %q %q", code, out, errs)
	}
	if code, out, _ := call("set", "dmz", "--max-concurrent=0", "--json"); code != exitDone ||
		strings.Join(strings.Fields(out), "") != `{"limited":["dmz"]}` {
		t.Errorf("set --json: %d %q", code, out)
	}
	want := []string{`site/berlin:1 {"max_concurrent":4}`, `no {"max_concurrent":4}`, `dmz {"max_concurrent":4}`,
		`dmz {"max_concurrent":0}`}
	if d := cmp.Diff(want, did()); d != "" {
		t.Error(d)
	}
	for _, args := range [][]string{{"set"}, {"set", "dmz"}, {"set", "--max-concurrent", "1"},
		{"set", "dmz", "--max-concurrent", "x"}, {"list", "x"}} {
		if code, _, _ := call(args...); code != exitUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
}
