package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

const estateAnswer = `{"hosts":[
{"host":"db\u001b[2J","facts":{"ansible_kernel":"6.1","ansible_interfaces":["lo"]},"gathered_at":"2026-05-01T11:00:00Z","run_id":"r"},
{"host":"web","facts":{"ansible_kernel":"6.2"},"gathered_at":"2026-05-01T12:00:00Z","run_id":"r"}],
"at":"2026-05-01T12:00:00Z","count":2,"withheld":1,"horizon":"2026-05-01T11:00:00Z","before_history":false}`

const estateDiff = `{"changed":[{"host":"web","facts":[{"key":"ansible_kernel","from":"6.1","to":"6.2"},{"key":"gone","from":null}]}],
"from":"2026-04-01T12:00:00Z","to":"2026-05-01T12:00:00Z","added":["new"],"unobserved":["old"],"unchanged":3,"withheld":0,
"horizon":"2026-05-01T11:00:00Z","before_history":true}`

// TestEstateCommand prints tables, the answers themselves, and what is left out.
func TestEstateCommand(t *testing.T) {
	t.Parallel()
	var asked []url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query())
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/estate/diff":
			_, _ = io.WriteString(w, estateDiff)
		case r.URL.Query().Get("q") == "cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, estateAnswer[:20])
		default:
			_, _ = io.WriteString(w, estateAnswer)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string
		query     url.Values
	}{
		{[]string{"--keys", "ansible_kernel", "--keys", "ansible_interfaces", "--at", "2026-05-01T12:00:00Z", "-q", "a=1",
			"--after", "aa", "--limit", "9"},
			exitDone, "HOST       GATHERED  ansible_interfaces  ansible_kernel\n" +
				"db\\x1b[2J  1h        [\"lo\"]              6.1\n" +
				"web        now                           6.2\n" +
				"1 host withheld, since you may not read the run that gathered them\n", "",
			url.Values{"keys": {"ansible_kernel", "ansible_interfaces"}, "at": {"2026-05-01T12:00:00Z"}, "q": {"a=1"},
				"after": {"aa"}, "limit": {"9"}}},
		{[]string{"--json"}, exitDone, estateAnswer, "", url.Values{}},
		{[]string{"--json", "-q", "cut"}, exitFailed, estateAnswer[:20], "not complete", url.Values{"q": {"cut"}}},
		{[]string{"-q", "cut"}, exitFailed, "", "EOF", nil},
		{[]string{"--diff", "2026-04-01T12:00:00Z"}, exitDone,
			"HOST  FACT            FROM  TO\nweb   ansible_kernel  6.1   6.2\n" +
				"web   gone            null\nnew is new\nold was not gathered\n1 changed, 3 unchanged, 1 new, 1 not gathered\n" +
				"The oldest facts are of 2026-05-01T11:00:00Z\n", "", url.Values{"from": {"2026-04-01T12:00:00Z"}}},
		{[]string{"--diff", "7d", "--json"}, exitDone, estateDiff, "", nil},
		{[]string{"--diff", "yesterday"}, exitUsage, "", "--diff: expected an RFC 3339 instant", nil},
		{[]string{"--at", "-7d"}, exitUsage, "", "--at: expected", nil},
		{[]string{"--diff", "7d", "--keys", "a"}, exitUsage, "", "neither --query nor --keys", nil},
	} {
		var o, e bytes.Buffer
		asked = nil
		code := execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: []string{"WRIT_SERVER=" + s.URL}},
			append([]string{"estate"}, c.args...))
		if code != c.code || o.String() != c.out || !strings.Contains(e.String(), c.errs) {
			t.Errorf("%v: %d\n%s%s", c.args, code, o.String(), e.String())
		}
		if c.query != nil && (len(asked) != 1 || asked[0].Encode() != c.query.Encode()) {
			t.Errorf("%v asks %v", c.args, asked)
		}
	}
}

// TestAgesAreInstants turns an age into the instant so long ago.
func TestAgesAreInstants(t *testing.T) {
	t.Parallel()
	text, err := moment("at", "36h")
	at, failed := time.Parse(time.RFC3339, text)
	if ago := time.Since(at); err != nil || failed != nil || ago < 36*time.Hour || ago > 37*time.Hour {
		t.Errorf("%s: %v, %v", text, err, failed)
	}
}
