package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// printed is the output of the known run: 200 lines, some of which differ only in case, one with a character of two
// bytes.
func printed() string {
	var b strings.Builder
	for i := range 200 {
		switch i {
		case 49:
			b.WriteString("Needle in (capitals)\n")
		case 99, 149:
			b.WriteString("a needle é here\n")
		default:
			fmt.Fprintf(&b, "line %03d\n", i+1)
		}
	}
	return b.String()
}

// TestLogs reads a known log whole, its end, ranges of it, and search results in it.
func TestLogs(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		want := printed()
		r := s.Await(s.Submit(bash("cat " + file(t, "text", want))).ID)
		path := "/v1/runs/" + r.ID + "/logs"
		if r.LogBytes != int64(len(want)) {
			t.Errorf("log_bytes is %d of %d", r.LogBytes, len(want))
		}
		whole := s.Do(http.MethodGet, path, nil)
		if string(whole.Body) != want || !strings.HasPrefix(whole.Header.Get("Content-Type"), "text/plain") ||
			whole.Header.Get("Service-Log-Truncated") != "" {
			t.Errorf("whole: %d bytes, %v", len(whole.Body), whole.Header)
		}
		down := s.Do(http.MethodGet, path+"?download=1", nil)
		if string(down.Body) != want || !strings.HasPrefix(down.Header.Get("Content-Disposition"),
			`attachment; filename="`+r.ID) {
			t.Errorf("download: %d bytes, %v", len(down.Body), down.Header)
		}
		tails(t, s, path, want)
		ranges(t, s, path, want)
		finds(t, s, path, want)
	})
}

func tails(t *testing.T, s *harness.Server, path, want string) {
	t.Helper()
	for ask, n := range map[string]int{"1": 1, "100": 100, "99999": len(want), "99999999999999999999": len(want),
		strconv.Itoa(len(want)): len(want)} {
		a := s.Do(http.MethodGet, path+"?tail="+ask, nil)
		if string(a.Body) != want[len(want)-n:] {
			t.Errorf("tail %s: %d bytes", ask, len(a.Body))
		}
		truncated, omitted := a.Header.Get("Service-Log-Truncated"), a.Header.Get("Service-Log-Omitted-Bytes")
		if n == len(want) && truncated+omitted != "" ||
			n < len(want) && (truncated != "1" || omitted != strconv.Itoa(len(want)-n)) {
			t.Errorf("tail %s: truncated %q, omitted %q", ask, truncated, omitted)
		}
		if clamped := a.Header.Get("Service-Log-Tail"); len(ask) < 8 && clamped != ask ||
			len(ask) > 8 && clamped != "4194304" {
			t.Errorf("tail %s: the tail used is %s", ask, clamped)
		}
	}
}

func ranges(t *testing.T, s *harness.Server, path, want string) {
	t.Helper()
	n := len(want)
	for ask, got := range map[string][2]int{"bytes=0-9": {0, 10}, "bytes=10-": {10, n}, "bytes=-7": {n - 7, n},
		"bytes=5-999999": {5, n}, "bytes=-999999": {0, n}} {
		a := s.Do(http.MethodGet, path, nil, "Range", ask)
		span := fmt.Sprintf("bytes %d-%d/%d", got[0], got[1]-1, n)
		if a.Status != 206 || string(a.Body) != want[got[0]:got[1]] || a.Header.Get("Content-Range") != span ||
			a.Header.Get("Content-Length") != strconv.Itoa(got[1]-got[0]) {
			t.Errorf("%s: %d with %d bytes, %v", ask, a.Status, len(a.Body), a.Header)
		}
	}
	for _, ask := range []string{fmt.Sprintf("bytes=%d-", n), "bytes=-0"} {
		a := s.Do(http.MethodGet, path, nil, "Range", ask)
		if p := refused(t, ask, a, 416); p.Reason != "range_not_satisfiable" ||
			a.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", n) {
			t.Errorf("%s: %q %q", ask, p.Reason, a.Header.Get("Content-Range"))
		}
	}
	for _, ask := range []string{"lines=0-1", "bytes=9-1", "bytes=0-1,3-4", "bytes=x-"} {
		if a := s.Do(http.MethodGet, path, nil, "Range", ask); a.Status != 200 || len(a.Body) != n {
			t.Errorf("%s: %d with %d bytes", ask, a.Status, len(a.Body))
		}
	}
}

func finds(t *testing.T, s *harness.Server, path, want string) {
	t.Helper()
	for query, lines := range map[string]string{
		"q=needle": "50 100 150", "q=NEEDLE": "50 100 150", "q=needle&case=1": "100 150", "q=Needle&case=true": "50",
		"q=NEEDLE&case=1":                    "",
		"q=" + url.QueryEscape("(capitals)"): "50", "q=" + url.QueryEscape(`^line 0(01|02)$`) + "&regex=1": "1 2",
		"q=^LINE 200$&regex=1&case=1":                  "",
		"q=" + url.QueryEscape("é here$") + "&regex=1": "100 150", "q=n.edle": "", "q=line&limit=2": "1 2",
	} {
		var p struct {
			Total, Count, Limit int
			Hits                []struct {
				Line, Offset int
				Text         string
			}
		}
		s.Do(http.MethodGet, path+"/find?"+strings.ReplaceAll(query, " ", "+"), nil).JSON(t, &p)
		var got []string
		for _, h := range p.Hits {
			got = append(got, strconv.Itoa(h.Line))
			if !strings.HasPrefix(want[h.Offset:], h.Text+"\n") || strings.Count(want[:h.Offset], "\n") != h.Line-1 {
				t.Errorf("%s: line %d at %d says %q", query, h.Line, h.Offset, h.Text)
			}
		}
		total := len(got)
		if strings.HasPrefix(query, "q=line&") {
			total = 197
		}
		if strings.Join(got, " ") != lines || p.Total != total || p.Count != len(got) {
			t.Errorf("%s: lines %v of %d, want %s", query, got, p.Total, lines)
		}
	}
	if p := get(t, s.Client, path+"/find?q=line&limit=5000"); p["limit"] != 1000.0 || p["total"] != 197.0 {
		t.Errorf("limit used %v, total %v", p["limit"], p["total"])
	}
}

// TestEvents pages and downloads the events of a run.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Await(s.Submit(harness.Body{"playbook": file(t, "p.yml", play),
		"inventory": file(t, "hosts", "a ansible_connection=local\nb ansible_connection=local\n")}).ID)
	path := "/v1/runs/" + r.ID + "/events"
	all := s.Events(r.ID)
	if r.Status != "succeeded" || int64(len(all)) != r.EventCount || len(all) < 7 {
		t.Fatalf("%s with %d events of %d", r.Status, len(all), r.EventCount)
	}
	var seen int
	for after := 0; ; {
		p := get(t, s.Client, path+fmt.Sprintf("?limit=3&after=%d", after))
		list := p["events"].([]any)
		seen += len(list)
		last := seen == len(all)
		if p["count"] != float64(len(list)) || p["next_after"] != float64(seen) || p["end"] != last || p["limit"] != 3.0 {
			t.Errorf("after %d: count %v, next_after %v, end %v, limit %v", after, p["count"], p["next_after"], p["end"],
				p["limit"])
		}
		if after = seen; last {
			break
		}
	}
	if p := get(t, s.Client, path+"?limit=99999"); p["limit"] != 5000.0 {
		t.Errorf("limit used: %v", p["limit"])
	}
	if p := get(t, s.Client, path); p["limit"] != 500.0 {
		t.Errorf("limit by default: %v", p["limit"])
	}
	if p := get(t, s.Client, path+"?after=999"); p["count"] != 0.0 || p["next_after"] != 999.0 || p["end"] != true {
		t.Errorf("behind the end: %v", p)
	}
	for query, from := range map[string]int{"?download=1": 0, "?download=1&after=4": 4, "?download=1&limit=2": 0} {
		a := s.Do(http.MethodGet, path+query, nil)
		lines := strings.Split(strings.TrimSuffix(string(a.Body), "\n"), "\n")
		want := len(all) - from
		if strings.Contains(query, "limit") {
			want = 2
		}
		if len(lines) != want || a.Header.Get("Content-Type") != "application/x-ndjson" ||
			!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment;") {
			t.Errorf("%s: %d lines, %v", query, len(lines), a.Header)
		}
		for i, line := range lines {
			var e harness.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != int64(from+i+1) {
				t.Errorf("%s: line %d is %q (%v)", query, i, line, err)
			}
		}
	}
}

// TestCappedLog reads a log without its middle: every answer reports that, and no range spans the gap.
func TestCappedLog(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--log-cap", "65536"}})
	r := s.Await(s.Submit(bash("seq 1 200000")).ID)
	path := "/v1/runs/" + r.ID + "/logs"
	a := s.Do(http.MethodGet, path, nil)
	omitted, err := strconv.ParseInt(a.Header.Get("Service-Log-Omitted-Bytes"), 10, 64)
	if err != nil || omitted == 0 || int64(len(a.Body))+omitted != r.LogBytes ||
		a.Header.Get("Service-Log-Truncated") != "1" || !r.Warned("log_truncated") {
		t.Fatalf("%d bytes with %d omitted of %d, warnings %v", len(a.Body), omitted, r.LogBytes, r.Warnings)
	}
	if !strings.HasPrefix(string(a.Body), "1\n2\n") || !strings.HasSuffix(string(a.Body), "\n200000\n") {
		t.Error("the beginning or the end is gone")
	}
	var text strings.Builder
	for i := range 200000 {
		text.WriteString(strconv.Itoa(i+1) + "\n")
	}
	all := text.String()
	for _, ask := range []string{"bytes=0-", "bytes=100-", "bytes=200000-", "bytes=-50"} {
		var from, to, total int
		part := s.Do(http.MethodGet, path, nil, "Range", ask)
		n, err := fmt.Sscanf(part.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total)
		if part.Status != 206 || n != 3 || err != nil || int64(total) != r.LogBytes || all[from:to+1] != string(part.Body) {
			t.Errorf("%s: %d, %q with %d bytes", ask, part.Status, part.Header.Get("Content-Range"), len(part.Body))
		}
	}
}
