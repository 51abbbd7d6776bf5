package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestHostileFacts reports documents that no tool sends: each is stored or refused, and what is stored is answered.
func TestHostileFacts(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"%d":0,`, i)
	}
	documents := map[string]struct {
		document string
		status   int // of the report
		known    bool
	}{
		"dots":         {`{"a.b":{"c\"d":{"":1}}}`, 204, true},
		"1,000 levels": {strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), 204, true},
		"100,000 keys": {"{" + keys.String() + `"z":1}`, 204, true},
		"NUL":          {`{"a\u0000":"\u0000"}`, 204, true},
		"UTF-8":        {"{\"\xff\":\"\xfe\"}", 204, true},
		"surrogates":   {`{"\ud800":"\udfff"}`, 204, true},
		"twice":        {`{"a":1,"a":2}`, 204, true},
		"numbers":      {`{"a":1e999999,"b":-0,"c":` + strings.Repeat("9", 1000) + `}`, 204, true},
		"a long name":  {`{"` + strings.Repeat("k", 500) + `":{` + keys.String() + `"z":1}}`, 204, false},
		"too large":    {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, 400, false},
		"a list":       {`[]`, 400, false},
		"null":         {`null`, 400, false},
		"broken":       {`{"a":`, 400, false},
	}
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		w.Submit(harness.Body{"playbook": "site.yml"})
		g := w.claim("odd")
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "running"})
		seq := g.Run.NextSeq
		const at = "2026-01-05T08:30:00Z"
		for name, c := range documents {
			w.mustReport(http.StatusOK, g, "heartbeat", harness.Body{"run_id": g.Run.ID}) // a slow machine needs its time
			w.mustReport(http.StatusOK, g, "events", harness.Body{"events": []harness.Body{
				{"seq": seq, "at": at, "type": "host_ok", "host": name, "task": "t"}}})
			seq++
			a := w.report(http.MethodPost, g.Run.ID, "host-facts",
				`{"facts":[{"host":"`+name+`","gathered_at":"`+at+`","facts":`+c.document+`}]}`, g.Capability)
			if a.Status != c.status {
				t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
			}
		}
		harness.Eventually(t, time.Minute, "all facts are taken", func() bool {
			return len(w.Column("SELECT host FROM run_facts")) == 0
		})
		for name, c := range documents {
			a := w.Do(http.MethodGet, "/v1/hosts/"+strings.ReplaceAll(name, " ", "%20")+"/facts", nil)
			if known := a.Status == http.StatusOK; known != c.known || !known && a.Status != http.StatusNotFound ||
				!utf8.Valid(a.Body) || !json.Valid(a.Body) {
				t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
			}
		}
		if a := w.Do(http.MethodGet, "/v1/estate", nil); a.Status != http.StatusOK || !json.Valid(a.Body) {
			t.Errorf("the estate is %d with %d bytes", a.Status, len(a.Body))
		}
	})
}
