package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

const logPath = "/v1/runs/" + knownRun + "/logs"

func TestLog(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.log = "0123456789"
	a := f.call("GET", logPath, "viewer", "")
	if a.status != 200 || string(a.body) != "0123456789" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		a.header.Get("Service-Log-Truncated") != "" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	a = f.call("GET", logPath+"?tail=4", "viewer", "")
	if string(a.body) != "6789" || a.header.Get("Service-Log-Truncated") != "1" ||
		a.header.Get("Service-Log-Omitted-Bytes") != "6" {
		t.Errorf("%s %v", a.body, a.header)
	}
	a = f.call("GET", logPath+"?tail=99999999999", "viewer", "")
	if got := f.fake.logAsked[len(f.fake.logAsked)-1]; got.Tail != 4<<20 || a.header.Get("Service-Log-Tail") != "4194304" {
		t.Errorf("asked %+v", got)
	}
	a = f.call("GET", logPath+"?download=1", "viewer", "")
	if a.header.Get("Content-Disposition") != `attachment; filename="`+knownRun+`-log.txt"` {
		t.Errorf("%v", a.header)
	}
	if a = f.call("HEAD", logPath, "viewer", ""); a.status != 200 || a.header.Get("Content-Type") == "" {
		t.Errorf("HEAD %d", a.status)
	}
	f.call("GET", "/v1/runs/run_other/logs", "viewer", "").problem(t, 404)
	f.fake.log = ""
	if a = f.call("GET", logPath, "viewer", ""); a.status != 200 || len(a.body) != 0 {
		t.Errorf("empty: %d", a.status)
	}
}

func TestLogRange(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.log = "0123456789"
	for header, want := range map[string][2]string{
		"bytes=0-3": {"0123", "bytes 0-3/10"}, "bytes=5-": {"56789", "bytes 5-9/10"}, "bytes=-3": {"789", "bytes 7-9/10"},
		"bytes=8-99": {"89", "bytes 8-9/10"}, "bytes=-99": {"0123456789", "bytes 0-9/10"}, "bytes=9-9": {"9", "bytes 9-9/10"},
	} {
		a := f.call("GET", logPath, "viewer", "", "Range", header)
		if a.status != http.StatusPartialContent || string(a.body) != want[0] || a.header.Get("Content-Range") != want[1] ||
			a.header.Get("Content-Length") == "" {
			t.Errorf("%s: %d %q %v", header, a.status, a.body, a.header)
		}
	}
	for _, header := range []string{"bytes=10-", "bytes=99-100", "bytes=-0"} {
		a := f.call("GET", logPath, "viewer", "", "Range", header)
		if p := a.problem(t, 416); p.Reason != "range_not_satisfiable" || a.header.Get("Content-Range") != "bytes */10" {
			t.Errorf("%s: %+v %v", header, p, a.header)
		}
	}
	for _, header := range []string{"bytes=3-1", "bytes=a-b", "bytes=1-2,4-5", "lines=1-2", "bytes=-", "bytes=1"} {
		if a := f.call("GET", logPath, "viewer", "", "Range", header); a.status != 200 || len(a.body) != 10 {
			t.Errorf("%s is no range of this server: %d", header, a.status)
		}
	}
	if a := f.call("GET", logPath+"?tail=2", "viewer", "", "Range", "bytes=0-1"); a.status != 200 ||
		string(a.body) != "89" {
		t.Errorf("tail with range: %d %s", a.status, a.body)
	}
}

func TestLogThatBreaksOff(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.log, f.fake.copyErr = "no line break", errors.New("HIDDEN")
	a := f.call("GET", logPath, "viewer", "")
	rest, ok := strings.CutPrefix(string(a.body), "no line break\n")
	if !ok || !strings.Contains(rest, `"export_incomplete":true`) || !strings.HasSuffix(rest, "}\n") ||
		strings.Contains(rest, "HIDDEN") {
		t.Errorf("%q", a.body)
	}
	f.fake.log = ""
	f.call("GET", logPath, "viewer", "").problem(t, 500)
	f.fake.copyErr = runs.RunNotFound.New("gone")
	f.call("GET", logPath, "viewer", "").problem(t, 404)
}

func TestPartThatBreaksOffIsCut(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.log, f.fake.copyErr = "0123456789", errors.New("HIDDEN")
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.url+logPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer viewer")
	req.Header.Set("Range", "bytes=0-8")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			t.Errorf("the cut part looks whole: %q", b)
		}
	}
	g := setup(t)
	g.fake.log, g.fake.truncated = "0123456789", 5
	a := g.call("GET", logPath, "viewer", "", "Range", "bytes=0-8")
	if a.status != 206 || a.header.Get("Content-Length") != "" && a.header.Get("Content-Length") != "9" ||
		a.header.Get("Service-Log-Omitted-Bytes") != "5" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// TestLogLines asks for lines: how many are answered is bounded, and headers say where they are.
func TestLogLines(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.log = "0123456789"
	for query, want := range map[string]runs.LogRange{
		"?line=3":                   {Line: 3, Lines: 1000},
		"?line=900000&lines=20":     {Line: 900000, Lines: 20},
		"?line=1&lines=99999999999": {Line: 1, Lines: 10_000},
		"?line=3&tail=4":            {Tail: 4},
		"?line=0":                   {},
		"?lines=5":                  {},
	} {
		a := f.call("GET", logPath+query, "viewer", "", "Range", "bytes=0-1")
		if got := f.fake.logAsked[0]; got != want {
			t.Errorf("%s asks for %+v, want %+v", query, got, want)
		}
		f.fake.logAsked = nil
		of := a.header.Get("Service-Log-Line") + " " + a.header.Get("Service-Log-Offset") + " " +
			a.header.Get("Service-Log-Next") + " " + a.header.Get("Service-Log-Lines")
		if want.Line > 0 && (a.status != 200 || of != "7 2 4 9" || string(a.body) != "23") || want.Line == 0 && of != "   " {
			t.Errorf("%s: %d %q, headers %q", query, a.status, a.body, of)
		}
	}
	for _, query := range []string{"?line=x", "?line=-1", "?lines=1.5"} {
		f.call("GET", logPath+query, "viewer", "").problem(t, 400)
	}
	f.call("GET", logPath+"?line=1", "", "").problem(t, 401)
	f.call("GET", "/v1/runs/run_other/logs?line=1", "viewer", "").problem(t, 404)
}
