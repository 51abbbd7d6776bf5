package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ruleServer has one policy or window with the name a, refuses one with the name bad, and records the writes.
func ruleServer(t *testing.T, plural, id string) (url string, did func() string) {
	t.Helper()
	var mu sync.Mutex
	var calls []string
	one := `{"id":"` + id + `","created_at":"2026-01-05T08:30:00Z","updated_at":"2026-01-05T08:30:00Z",` +
		`"created_by":"usr_1","name":"a","effect":"deny","enabled":true,"match":{"hosts_over":10,"labels":{"env":"*"}},` +
		`"message":"no \u001b[2J"}`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/"+plural, func(w http.ResponseWriter, r *http.Request) {
		if name := r.URL.Query().Get("name"); name != "" && name != "a" {
			_, _ = io.WriteString(w, `{"`+plural+`":[],"count":0,"total":0}`)
			return
		}
		_, _ = io.WriteString(w, `{"`+plural+`":[`+one+`],"count":1,"total":1}`)
	})
	mux.HandleFunc("GET /v1/"+plural+"/"+id, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, one)
	})
	write := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		calls = append(calls, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(raw)))
		mu.Unlock()
		if bytes.Contains(raw, []byte(`"bad"`)) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"effect: is required","reason":"invalid"}`)
			return
		}
		_, _ = io.WriteString(w, one)
	}
	mux.HandleFunc("POST /v1/"+plural, write)
	mux.HandleFunc("PUT /v1/"+plural+"/{id}", write)
	mux.HandleFunc("DELETE /v1/"+plural+"/{id}", write)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		out := strings.Join(calls, "\n")
		calls = nil
		return out
	}
}

func TestPolicyCommands(t *testing.T) {
	testRules(t, "policy", "policies", "pol_01k0a0000vtx5zk9w2m4n6p8rs")
}

func TestWindowCommands(t *testing.T) {
	testRules(t, "window", "windows", "win_01k0a0000vtx5zk9w2m4n6p8rs")
}

func testRules(t *testing.T, noun, plural, id string) {
	t.Parallel()
	url, did := ruleServer(t, plural, id)
	call := func(in string, args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(in),
			environ: []string{"WRIT_SERVER=" + url}}, append([]string{noun}, args...))
		return code, o.String(), e.String()
	}
	if code, out, errs := call("", "list"); code != exitDone || !strings.HasPrefix(out, "NAME  ENABLED") ||
		strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 2 {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, name := range []string{"a", id} {
		code, out, errs := call("", "show", name, "-o", "yaml")
		if code != exitDone || !strings.Contains(out, "hosts_over: 10\n") {
			t.Errorf("%d %s %s", code, out, errs)
		}
		// What it prints is a policy file.
		code, out, errs = call(out, "apply", "-")
		if want := `{"effect":"deny","enabled":true,"match":{"hosts_over":10,"labels":{"env":"*"}},` +
			`"message":"no \u001b[2J","name":"a"}`; code != exitDone || out != "applied a\n" ||
			did() != "PUT /v1/"+plural+"/"+id+" "+want {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
	if code, out, errs := call("", "show", "a"); code != exitDone || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, "hosts_over: 10\n") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, _ := call("", "show", "a", "a", "--json")
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitDone || string(doc["count"]) != "2" ||
		!strings.Contains(string(doc[plural]), id) {
		t.Errorf("%d %s", code, out)
	}
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(plural+":\n- {name: bad}\n- {name: b, effect: deny}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call("", "apply", file)
	if calls := did(); code != exitFailed || out != "applied b\n" || !strings.Contains(errs, "bad: effect: is required") ||
		strings.Count(calls, "POST /v1/"+plural+" ") != 2 {
		t.Errorf("%d %s %s %s", code, out, errs, calls)
	}
	code, out, errs = call("", "delete", "none", "a", "--yes")
	if code != exitFailed || out != "deleted a\n" || !strings.Contains(errs, `there is no `+noun+` "none"`) ||
		did() != "DELETE /v1/"+plural+"/"+id {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, text := range []string{"", "x: 1", plural + ": 7", plural + ": [{effect: deny}]",
		plural + ": [{name: a}, {name: a}]", plural + ": [{name: a}]\nx: []"} {
		if code, _, errs := call(text, "apply", "-"); code != exitFailed || errs == "" || did() != "" {
			t.Errorf("%q: %d %s", text, code, errs)
		}
	}
	code, _, errs = call("", "apply", file+"x")
	if code != exitFailed || !strings.Contains(errs, "no such file") {
		t.Errorf("%d %s", code, errs)
	}
}
