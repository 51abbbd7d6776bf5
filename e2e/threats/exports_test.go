package threats

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// manyEvents gives a run 40,000 events in the form in which the store keeps them uncompressed, 500 to a row.
const manyEvents = `INSERT INTO run_events (run_seq, first_seq, last_seq, codec, data)
SELECT r.seq, b * 500 + 1, b * 500 + 500, 0, convert_to((
  SELECT string_agg('{"seq":' || n || ',"at":"2026-01-01T00:00:00Z","type":"host_ok","host":"h","stdout":"' || repeat('x', 200) || '"}', chr(10)) || chr(10)
  FROM generate_series(b * 500 + 1, b * 500 + 500) n), 'UTF8')
FROM runs r, generate_series(0, 79) b WHERE r.id = ?`

// TestExportsThatBreakOffSaySo: the database dies while events and a log are being downloaded. Each download
// ends with a line that reports that it is incomplete, with the reason.
// Keeps F23.
func TestExportsThatBreakOffSaySo(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	s := harness.Start(t, harness.Options{DB: cluster.URL()})
	r := s.Await(s.Submit(script("seq -f 'line %.0f of something long enough to fill every buffer on the way' 1 200000")).
		ID)
	if r.Status != "succeeded" || r.LogBytes < 10<<20 {
		t.Fatalf("the run is %s (%s) with %d bytes", r.Status, r.Error, r.LogBytes)
	}
	s.Alter("DELETE FROM run_events")
	s.Alter(manyEvents, r.ID)
	s.Alter("UPDATE runs SET event_count = 40000 WHERE id = ?", r.ID)
	whole := map[string]int{}
	opened := map[string]*http.Response{}
	for _, path := range []string{"events?download=1", "logs?download=1"} {
		path = "/v1/runs/" + r.ID + "/" + path
		whole[path] = len(s.Do(http.MethodGet, path, nil).Body)
		resp, _ := get(t, s, 64<<10, path, bearer(s))
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") {
			t.Fatalf("GET %s: %d %v", path, resp.StatusCode, resp.Header)
		}
		opened[path] = resp
	}
	if err := cluster.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for path, resp := range opened {
		wg.Go(func() {
			body, err := io.ReadAll(resp.Body)
			if err != nil || len(body) == 0 || len(body) >= whole[path] {
				t.Errorf("GET %s gave %d bytes of %d: %v", path, len(body), whole[path], err)
			} else if reason, ok := incomplete(string(body)); !ok || reason == "" {
				t.Errorf("GET %s ends with %q", path, body[max(0, len(body)-200):])
			}
		})
	}
	wg.Wait()
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, n := range whole {
		harness.Eventually(t, wait, "the export is whole again", func() bool {
			a, err := s.Try(http.MethodGet, path, nil)
			return err == nil && a.Status == http.StatusOK && len(a.Body) == n &&
				!bytes.Contains(a.Body[n-60:], []byte("export_incomplete"))
		})
	}
}
