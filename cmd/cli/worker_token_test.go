package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// workerTokenServer has 1200 tokens of workers in pages of 1000 and records the other requests.
func workerTokenServer(t *testing.T) (string, *[]string) {
	t.Helper()
	calls := &[]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/worker-tokens", func(w http.ResponseWriter, r *http.Request) {
		var from, rows int
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &from)
		list := []string{}
		for n := from; n < 1200 && rows < 1000; n, rows = n+1, rows+1 {
			list = append(list, fmt.Sprintf(
				`{"id":"wkt_%d","name":"edge\u001b[2J","queues":["dmz","lab"],"created_at":"2026-01-05T08:30:00Z"}`, n))
		}
		_, _ = fmt.Fprintf(w, `{"worker_tokens":[%s],"count":%d,"total":1200}`, strings.Join(list, ","), len(list))
	})
	mux.HandleFunc("POST /v1/worker-tokens", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*calls = append(*calls, "POST "+strings.TrimSpace(string(body)))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"wkt_1","name":"edge","queues":["dmz"],"created_at":"2026-01-05T08:30:00Z",
			"created_by":"usr_1","token":"writ_worker_C4nary"}`)
	})
	mux.HandleFunc("DELETE /v1/worker-tokens/{id}", func(w http.ResponseWriter, r *http.Request) {
		*calls = append(*calls, "DELETE "+r.PathValue("id"))
		if strings.HasSuffix(r.PathValue("id"), "7") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"no such worker token","reason":"worker_token_not_found"}`)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, calls
}

func TestWorkerTokenCommands(t *testing.T) {
	t.Parallel()
	url, calls := workerTokenServer(t)
	id := func(n string) string { return "wkt_0000000000000000000000000" + n }
	call := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: []string{"WRIT_SERVER=" + url, "WRIT_TOKEN=t"}}, append([]string{"worker", "token"}, args...))
		return code, o.String(), e.String()
	}
	if code, out, errs := call("new", "--name", "edge"); code != exitDone || out != "writ_worker_C4nary\n" || errs != "" {
		t.Errorf("new: %d %q %q", code, out, errs)
	}
	code, out, _ := call("new", "--name", "edge", "--queue", "dmz", "--queue", "lab", "--expires", "90d", "--json")
	var made struct{ ID, Token string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != exitDone || made.Token != "writ_worker_C4nary" ||
		made.ID != "wkt_1" {
		t.Errorf("new --json: %d %q", code, out)
	}
	code, out, _ = call("list")
	if code != exitDone || strings.Count(out, "\n") != 1201 || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, "dmz,lab") || !strings.HasPrefix(out, "NAME") {
		t.Errorf("list: %d %.300q", code, out)
	}
	if code, out, _ := call("list", "--json"); code != exitDone || !strings.Contains(out, `"count": 1200`) {
		t.Errorf("list --json: %d %.200s", code, out)
	}
	if code, out, errs := call("revoke", "--yes", id("1"), id("7"), id("2")); code != exitFailed ||
		out != "revoked "+id("1")+"\nrevoked "+id("2")+"\n" || !strings.Contains(errs, id("7")+": no such worker token") {
		t.Errorf("revoke: %d %q %q", code, out, errs)
	}
	want := []string{`POST {"name":"edge"}`, `POST {"expires_in":7776000,"name":"edge","queues":["dmz","lab"]}`,
		"DELETE " + id("1"), "DELETE " + id("7"), "DELETE " + id("2")}
	if diff := cmp.Diff(want, *calls); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"new"}, "expected NAME"}, {[]string{"new", "edge", "x"}, "arg"},
		{[]string{"revoke", id("1")}, "give --yes"},
		{[]string{"new", "--name", "edge", "--expires", "-1d"}, "expires"},
		{[]string{"new", "--name", "edge", "--expires", "soon"}, "expires"},
		{[]string{"revoke"}, "arg"}, {[]string{"list", "x"}, "unknown command"}, {[]string{"nope"}, "nope"},
	} {
		if code, out, errs := call(c.args...); code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
	if diff := cmp.Diff(want, *calls); diff != "" {
		t.Error(diff)
	}
}
