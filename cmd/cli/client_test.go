package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// fakeServer answers like the REST API for one run and records the requests.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	bodies   []map[string]any
	streams  []func(w http.ResponseWriter, q url.Values)
	record   map[string]any
	failures string
}

func newFakeServer(t *testing.T, record map[string]any, streams ...func(http.ResponseWriter, url.Values)) *fakeServer {
	t.Helper()
	f := &fakeServer{record: record, streams: streams}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, http.StatusCreated, f.record)
	})
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, 200, map[string]any{"runs": []any{f.record}, "count": 1, "total": 7, "has_more": true})
	})
	summary := `"outcome":"failed","first_at":"2026-05-01T12:00:00Z","last_at":"2026-05-01T13:00:00Z",` +
		`"actors":["ada","bob"],"hosts":3,"total":1,"partial":true`
	mux.HandleFunc("GET /v1/changes", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"changes":[{"change":"CHG\u001b[2J","runs":2,`+summary+`}],"total":4,"partial":true}`)
	})
	mux.HandleFunc("GET /v1/changes/{change}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/html" {
			_, _ = io.WriteString(w, "<!doctype html>")
			return
		}
		_, _ = io.WriteString(w, `{"change":"CHG/1","runs":[{"id":"run_1","status":"failed"}],"withheld":2,`+summary+`}`)
	})
	mux.HandleFunc("GET /v1/runs/{id}", func(w http.ResponseWriter, _ *http.Request) { f.answer(w, 200, f.record) })
	mux.HandleFunc("POST /v1/runs/{id}/{verb}", f.act)
	mux.HandleFunc("GET /v1/runs/{id}/failures", func(w http.ResponseWriter, r *http.Request) {
		if f.failures == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, f.failures)
	})
	mux.HandleFunc("GET /v1/runs/{id}/logs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Service-Log-Omitted-Bytes", "12")
		_, _ = io.WriteString(w, "all\x1b[2Jof it\xff\n")
	})
	mux.HandleFunc("GET /v1/runs/{id}/stream", f.stream)
	f.Server = httptest.NewServer(f.capture(mux))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) capture(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		f.mu.Lock()
		f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
		f.bodies = append(f.bodies, body)
		f.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (f *fakeServer) answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeServer) act(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("verb") {
	case "stream-ticket":
		f.answer(w, 200, map[string]any{"ticket": "tick&et", "expires_in": 30})
	case "approve":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":"the run is not held\u001b[2J","reason":"run_not_held"}`)
	default:
		f.answer(w, 200, f.record)
	}
}

func (f *fakeServer) stream(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	n := len(f.streams)
	var next func(http.ResponseWriter, url.Values)
	if n > 0 {
		next, f.streams = f.streams[0], f.streams[1:]
	}
	f.mu.Unlock()
	if next == nil || r.URL.Query().Get("ticket") != "tick&et" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	next(w, r.URL.Query())
}

func (f *fakeServer) asked(t *testing.T, want string) int {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range f.requests {
		if strings.HasPrefix(r, want) {
			return i
		}
	}
	t.Errorf("nobody asked %q: %q", want, f.requests)
	return 0
}

func call(t *testing.T, f *fakeServer, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	w := environment{out: &o, err: &e, in: strings.NewReader("echo from stdin"),
		environ: []string{"WRIT_SERVER=" + f.URL + "/", "WRIT_TOKEN=writ_test"}}
	code = execute(t.Context(), w, args)
	return code, o.String(), e.String()
}

func frame(w io.Writer, kind string, data any) {
	raw, _ := json.Marshal(data)
	_, _ = fmt.Fprintf(w, ": beat\n\nevent: %s\ndata: %s\n\n", kind, raw)
}

type obj = map[string]any

func playbook(w http.ResponseWriter, _ url.Values) {
	frame(w, "run", obj{"id": "run_1", "status": "running", "tool": "ansible", "kind": "single"})
	frame(w, "event", obj{"seq": 1, "type": "status", "from": "pending", "to": "running"})
	frame(w, "event", obj{"seq": 2, "type": "play_started", "play": "web"})
	frame(w, "event", obj{"seq": 3, "type": "task_started", "play": "web", "task": "install", "task_id": "t1"})
	frame(w, "event", obj{"seq": 4, "type": "host_ok", "task": "install", "task_id": "t1", "host": "web1",
		"changed": true})
	frame(w, "event", obj{"seq": 5, "type": "host_failed", "task": "install", "task_id": "t1", "host": "web2",
		"message": "no space on /dev/sda1\x1b[2J"})
	frame(w, "event", obj{"seq": 6, "type": "host_failed", "task": "install", "task_id": "t1", "host": "web3",
		"message": "no space on /dev/sdb7\x1b[2J"})
	frame(w, "log", obj{"offset": 0, "text": "TASK [install]\n", "next": 15})
}

func rest(w http.ResponseWriter, _ url.Values) {
	frame(w, "event", obj{"seq": 6, "type": "host_failed", "task": "install", "task_id": "t1", "host": "web3",
		"message": "told twice"})
	frame(w, "event", obj{"seq": 7, "type": "task_started", "play": "web", "task": "start", "task_id": "t2"})
	frame(w, "event", obj{"seq": 8, "type": "host_ok", "task": "start", "task_id": "t2", "host": "web1",
		"duration_ms": 1200})
	frame(w, "run", obj{"id": "run_1", "status": "failed", "tool": "ansible"})
	frame(w, "end", obj{})
}

// TestRunFollows submits, loses the stream in the middle, resumes at the same position, and prints the outcome.
func TestRunFollows(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed", "tool": "ansible", "exit_code": 2, "duration_ms": 65000,
		"error":    "2 hosts failed",
		"warnings": []obj{{"code": "x", "message": "look here"}}}, playbook, rest)
	code, out, errs := call(t, f, "run", "--playbook", "site.yml", "-i", "hosts.ini", "--limit", "web", "--tags", "a,b",
		"-e", "v=1", "-e", "n:=[1,2]",
		"--label", "team=web", "--shards", "2", "--dry-run", "--fail-on", "no_hosts,unreachable", "--lock", "db",
		"--lock", "dns", "--exclusive-hosts", "--follow", "-vv",
		"--timeout", "5m")
	if code != exitFailed || !strings.HasPrefix(errs, "writ: warning: look here\nwrit: the connection is lost") ||
		!strings.HasSuffix(errs, "connected again\n") {
		t.Errorf("exit %d, %q", code, errs)
	}
	plain := regexp.MustCompile(` +`).ReplaceAllString(out, " ")
	for _, want := range []string{"PLAY web", "install 0.0s changed 1 failed 2", "failed web2: no space on /dev/sda1",
		"start 1.2s ok 1",
		"TASK web1 web2 web3\ninstall changed failed failed\nstart ok\n", "HOST ok changed failed\nweb1 1 1 0\n",
		"✗ install\n failed on 2 hosts: web2, web3",
		"run_1 failed in 1m05s, exit code 2: 2 hosts failed"} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "told twice") || strings.Contains(out, "look here") ||
		strings.Contains(out, "TASK [install]") {
		t.Errorf("escapes, repetitions or the raw log show:\n%s", out)
	}
	i := f.asked(t, "POST /v1/runs Bearer writ_test")
	b, err := json.Marshal(f.bodies[i])
	want := `{"dry_run":true,"exclusive_hosts":true,"extra_vars":{"n":[1,2],"v":"1"},"fail_on":["no_hosts","unreachable"],"inventory":"hosts.ini","labels":{"team":"web"},"limit":"web","locks":["db","dns"],"playbook":"site.yml","shards":2,"tags":["a","b"],"timeout":300,"verbosity":2}`
	if err != nil || string(b) != want {
		t.Errorf("sent %s\nwant %s", b, want)
	}
	f.asked(t, "GET /v1/runs/run_1/stream?after=0&log_offset=0&ticket=tick%26et ")
	f.asked(t, "GET /v1/runs/run_1/stream?after=6&log_offset=15&ticket=tick%26et ")
}

func TestRunOfAScript(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "succeeded", "tool": "bash", "exit_code": 0},
		func(w http.ResponseWriter, _ url.Values) {
			frame(w, "run", obj{"id": "run_1", "status": "running", "tool": "bash"})
			frame(w, "log", obj{"offset": 0, "text": "hi\x1b[31m there\n"})
			frame(w, "end", obj{})
		})
	code, out, errs := call(t, f, "run", "--tool", "bash", "--file", "-", "--follow")
	if code != exitDone || errs != "" || !strings.Contains(out, "hi\x1b[31m there\n") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if got := f.bodies[f.asked(t, "POST /v1/runs ")]["command"]; got != "echo from stdin" {
		t.Errorf("command %q", got)
	}
	script := filepath.Join(t.TempDir(), "x.sh")
	if err := os.WriteFile(script, []byte("true"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := call(t, f, "run", "--tool", "bash", "--file", script); code != exitDone || out != "run_1\n" {
		t.Errorf("without a terminal: exit %d, %q", code, out)
	}
	if code, out, _ := call(t, f, "run", "--tool", "bash", "-c", "true", "--json"); code != exitDone ||
		!json.Valid([]byte(out)) {
		t.Errorf("--json: exit %d, %q", code, out)
	}
}

func TestFollowJSON(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed", "tool": "ansible", "new_member": 7}, playbook, rest)
	code, out, _ := call(t, f, "run", "-p", "site.yml", "--follow", "--json")
	var r map[string]any
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed || r["new_member"] != 7.0 {
		t.Errorf("exit %d, %s %v", code, out, err)
	}
}

func TestServerGroupsFailures(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed"}, playbook, rest)
	f.failures = `{"groups":[{"task":"install","message":"as the server folds it","outcome":"failed","count":25,"hosts":["web2"]}]}`
	if _, out, _ := call(t, f, "run", "-p", "site.yml", "--follow"); !strings.Contains(out,
		"✗ install\n  failed on 25 hosts: web2 and 24 more\n    as the server folds it") {
		t.Errorf("%s", out)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{})
	for _, args := range [][]string{
		{"run"}, {"run", "--nothing"}, {"run", "x"}, {"run", "-c", "a", "--file", "b"},
		{"run", "-c", "a", "-o", "xml"}, {"runs", "--jq", "["}, {"runs", "--jq", ".", "-o", "csv"},
		{"runs", "-o", "template={{"}, {"run", "-p", "x", "-e", "novalue"},
		{"run", "-p", "x", "-e", "a:={"},
		{"run", "-p", "x", "--label", "a"}, {"run", "--file", "/nowhere/at/all"}, {"logs"}, {"cancel"}, {"cancel", "a", "b"},
		{"approve", "-y", "a", "b", "--match", "x"}, {"rerun"}, {"compare"}, {"compare", "a", "b", "c"},
		{"launch"}, {"runs", "--server", "ftp://x"},
		{"token", "revoke"}, {"logs", "x", "--tail", "many"}, {"logs", "x", "-f", "--find", "y"},
		{"logs", "-f", "x", "--tail", "1KiB"}, {"runs", "--limit", "0"}, {"runs", "--since", "soon"},
		{"runs", "--after", "soon"}, {"runs", "--before", "soon"}, {"runs", "--since", "1d", "--after", "2d"},
		{"changes", "--limit", "0"}, {"change", "x", "--limit", "0"}, {"hosts", "--limit", "0"}, {"drift", "--limit", "0"},
		{"host", "x", "--window", "0"}, {"token", "list", "--limit", "0"}, {"user", "list", "--limit", "0"},
		{"change", "x", "--html", "-", "--watch"}, {"estate", "--diff", "1d", "--limit", "3"},
	} {
		if code, out, errs := call(t, f, args...); code != exitUsage || errs == "" || out != "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errs)
		}
	}
	if len(f.requests) != 0 {
		t.Errorf("the server was asked %q", f.requests)
	}
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "canceled", "tool": "bash", "name": "a\nb\x1b[2J",
		"created_at": "2026-05-01T12:00:00Z"})
	for _, c := range []struct {
		args []string
		code int
		out  string
		errs string
		ask  string
	}{
		{[]string{"cancel", "run_1"}, exitDone, "run_1 canceled\n", "", "POST /v1/runs/run_1/cancel "},
		{[]string{"reject", "run_1", "-m", "no"}, exitDone, "run_1 canceled\n", "", "POST /v1/runs/run_1/reject "},
		{[]string{"approve", "run_1"}, exitFailed, "", `writ: the run is not held\x1b[2J`, "POST /v1/runs/run_1/approve "},
		{[]string{"runs", "--status", "failed,running", "-q", "label:a=b"}, exitDone, `a b\x1b[2J`, "",
			"GET /v1/runs?limit=20&q=label%3Aa%3Db&status=failed&status=running "},
		{[]string{"runs"}, exitDone, "1 of 7 runs", "", "GET /v1/runs?limit=20 "},
		{[]string{"runs", "--order", "oldest", "--task", "a b", "--after", "2026-05-01T12:00:00Z", "--before",
			"2026-05-02T12:00:00Z"}, exitDone, "1 of 7 runs", "", "GET /v1/runs?after=2026-05-01T12%3A00%3A00Z&" +
			"before=2026-05-02T12%3A00%3A00Z&limit=20&order=oldest&task=a+b "},
		{[]string{"changes", "--limit", "3"}, exitDone, `CHG\x1b[2J`, "",
			"GET /v1/changes?limit=3&offset=0 "},
		{[]string{"change", "CHG/1"}, exitDone, "2 runs may not be read\nolder runs were not read", "",
			"GET /v1/changes/CHG%2F1?limit=1000&offset=0 "},
		{[]string{"change", "CHG/1", "--html", "-"}, exitDone, "<!doctype html>", "", "GET /v1/changes/CHG%2F1 "},
		{[]string{"runs", "run_1"}, exitDone, "■ run_1 canceled\n", "", "GET /v1/runs/run_1 "},
		{[]string{"runs", "../../metrics", "--json"}, exitDone, "run_1", "", "GET /v1/runs/..%2F..%2Fmetrics "},
		{[]string{"logs", "run_1", "--tail", "1KiB"}, exitDone, "all\x1b[2Jof it\xff\n", "",
			"GET /v1/runs/run_1/logs?tail=1024 "},
		{[]string{"logs", "run_1"}, exitDone, "of it", "12 bytes of the log were not kept", "GET /v1/runs/run_1/logs "},
		{[]string{"logs", "-f", "run_1"}, exitFailed, "",
			"Unauthorized (sign in with 'writ login', or set WRIT_TOKEN or --token)",
			"GET /v1/runs/run_1/stream?"},
		{[]string{"version", "--json"}, exitDone, `"go": "go1.`, "", ""},
	} {
		code, out, errs := call(t, f, c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: exit %d, out %q, err %q", c.args, code, out, errs)
		}
		if c.ask != "" {
			f.asked(t, c.ask)
		}
	}
	if got := f.bodies[f.asked(t, "POST /v1/runs/run_1/reject")]["reason"]; got != "no" {
		t.Errorf("reason %q", got)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{})
	f.Close()
	if code, _, errs := call(t, f, "runs"); code != exitFailed ||
		!strings.Contains(errs, "no answer from http://127.0.0.1") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

// TestMistakesAreNamedOnce: the first mistake is the text of an answer with several.
func TestMistakesAreNamedOnce(t *testing.T) {
	t.Parallel()
	var e apiError
	if err := json.Unmarshal([]byte(`{"error":"a: is wrong","errors":[{"location":"a","message":"is wrong"},`+
		`{"location":"b","message":"is absent"}]}`), &e); err != nil {
		t.Fatal(err)
	}
	if got := e.Error(); got != "a: is wrong\n  b: is absent" {
		t.Errorf("%q", got)
	}
}
