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
)

// deadLetterServer has 1500 letters in pages of 1000, refuses one of them, and records the actions.
func deadLetterServer(t *testing.T) (url string, did func() []string) {
	t.Helper()
	var mu sync.Mutex
	var calls []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/dead-letters", func(w http.ResponseWriter, r *http.Request) {
		var from, rows int
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &from)
		list := []string{}
		for n := from; n < 1500 && rows < 1000; n, rows = n+1, rows+1 {
			list = append(list,
				fmt.Sprintf(`{"id":"dlt_%026d","event":"a.b","subscriber":"notify","attempts":4,"error":"no \u001b[2J"}`, n))
		}
		_, _ = fmt.Fprintf(w, `{"dead_letters":[%s],"count":%d,"total":1500}`, strings.Join(list, ","), len(list))
	})
	act := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls = append(calls, r.Method+" "+r.URL.Path)
		mu.Unlock()
		if strings.HasSuffix(r.PathValue("id"), "0000007") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"no such dead letter","reason":"dead_letter_not_found"}`)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	mux.HandleFunc("POST /v1/dead-letters/{id}/retry", act)
	mux.HandleFunc("DELETE /v1/dead-letters/{id}", act)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return calls }
}

func TestDeadLetterCommands(t *testing.T) {
	t.Parallel()
	url, did := deadLetterServer(t)
	call := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: []string{"WRIT_SERVER=" + url}},
			append([]string{"dead-letter"}, args...))
		return code, o.String(), e.String()
	}
	letter := fmt.Sprintf("dlt_%026d", 7)
	code, out, errs := call("list")
	if code != exitDone || strings.Count(out, "\n") != 1501 || strings.Contains(out, "\x1b") {
		t.Errorf("list: %d, %d lines, %s", code, strings.Count(out, "\n"), errs)
	}
	if code, out, _ := call("list", "--json"); code != exitDone || !strings.Contains(out, `"count": 1500`) {
		t.Errorf("list --json: %d %.200s", code, out)
	}
	code, out, errs = call("delete", "--yes", "dlt_1", letter, "dlt_2")
	if code != exitFailed ||
		out != "deleted dlt_1\ndeleted dlt_2\n" ||
		!strings.Contains(errs, letter+": no such dead letter") {
		t.Errorf("delete: %d %q %q", code, out, errs)
	}
	if code, out, _ := call("retry", "dlt_3", "--json"); code != exitDone ||
		strings.Join(strings.Fields(out), "") != `{"retried":["dlt_3"]}` {
		t.Errorf("retry --json: %d %q", code, out)
	}
	if code, out, _ := call("retry", "--all"); code != exitFailed || strings.Count(out, "\n") != 1499 {
		t.Errorf("retry --all: %d, %d lines", code, strings.Count(out, "\n"))
	}
	if n := len(did()); n != 3+1+1500 {
		t.Errorf("%d calls", n)
	}
	for _, args := range [][]string{{"retry"}, {"retry", "--all", "dlt_1"}, {"delete"}, {"delete", "dlt_1"},
		{"list", "x"}} {
		if code, _, _ := call(args...); code != exitUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
}
