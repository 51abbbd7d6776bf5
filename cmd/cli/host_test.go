package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// results makes the runs of a page from letters, the newest first: f for failed, o for ok.
func results(letters string) []hostRun {
	list := make([]hostRun, len(letters))
	for i, l := range letters {
		list[i] = hostRun{Outcome: map[rune]string{'f': "failed", 'u': "unreachable", 'o': "ok"}[l],
			EndedAt: time.Date(2026, 11, 1, 14, 10-i%10, 0, 0, time.Local)}
	}
	return list
}

func TestHostSentence(t *testing.T) {
	t.Parallel()
	for letters, want := range map[string]string{
		"":                                  "No run is known.",
		"o":                                 "Succeeds in each of its newest runs: 1.",
		"fuf":                               "Fails in each of its newest runs: 3.",
		"fuoof":                             "Fails since 2026-11-01 14:09:00 after 2 good runs.",
		"of":                                "Succeeds since 2026-11-01 14:10:00 after 1 failed run.",
		"ofoff":                             "Succeeds since 2026-11-01 14:10:00 after 1 failed run.",
		"f" + strings.Repeat("o", 99):       "Fails since 2026-11-01 14:10:00 after at least 99 good runs.",
		"f" + strings.Repeat("o", 98) + "f": "Fails since 2026-11-01 14:10:00 after 98 good runs.",
	} {
		if got := (&hostPage{Runs: results(letters)}).sentence(); got != want {
			t.Errorf("%s: %q, want %q", letters, got, want)
		}
	}
}

func TestHostCommands(t *testing.T) {
	t.Parallel()
	rank := `"host":"web\u001b[2J","failures":2,"total":3,"last_outcome":"failed","last_run_at":"2026-11-01T14:10:00Z",` +
		`"flips":2,"flaky":true,"recent":[{"outcome":"failed"},{"outcome":"ok"},{"outcome":"unreachable"},{"outcome":"\u001b"}]`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/fleet", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") == "none" {
			_, _ = io.WriteString(w, `{"hosts":[],"count":0,"total":0,"window":10}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"hosts":[{%s}],"count":1,"total":7,"window":%s}`, rank, r.URL.Query().Get("window"))
	})
	mux.HandleFunc("GET /v1/hosts/{host}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("host") != "a/b%" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"no such host; similar names: web","reason":"host_not_found"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{%s,"runs":[{"run_id":"run_1","name":"n\u001b[2J","outcome":"failed","ended_at":`+
			`"2026-11-01T14:10:00Z"}],"facts":{"facts":{"ansible_kernel":"6.1\u001b","x":1},"gathered_at":"2026-11-01T14:10:00Z"},`+
			`"coverage":{"checked":40,"drifted":1,"unknown":2,"checked_at":"2026-11-01T14:10:00Z"}}`, rank)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	call := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: []string{"WRIT_SERVER=" + s.URL}}, args)
		return code, o.String(), e.String()
	}
	for _, c := range []struct {
		args  string
		code  int
		wants []string
	}{
		{"hosts --window 30 --limit 1", exitDone, []string{"2/3", "2 flaky", "FoU?", "1 of 7 hosts"}},
		{"hosts --window 30 --json", exitDone, []string{`"window": 30`}}, {"hosts -q none", exitDone, []string{"no hosts"}},
		{"hosts --window 0", exitUsage, []string{"above zero"}}, {"hosts --limit=-1", exitUsage, nil},
		{"hosts web", exitUsage, nil}, {"host", exitUsage, nil},
		{"host a/b%", exitDone, []string{"Fails in each of its newest runs: 1.", "kernel", "1 of 40 checked tasks, 2 unknown",
			"run_1", "FoU"}},
		{"host a/b% --json", exitDone, []string{`"flaky": true`}}, {"host wob", exitFailed, []string{"similar names: web"}},
	} {
		code, out, errs := call(strings.Fields(c.args)...)
		if code != c.code || strings.Contains(out, "\x1b") {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, errs)
		}
		for _, want := range c.wants {
			if !strings.Contains(out+errs, want) {
				t.Errorf("%s lacks %q:\n%s%s", c.args, want, out, errs)
			}
		}
	}
}
