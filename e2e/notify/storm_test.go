package notify

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestKilledServersForgetNobody kills the server repeatedly while runs end: the target of each ended run gets its
// notification, with one delivery id.
func TestKilledServersForgetNobody(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, func(_ int, _ http.ResponseWriter, _ *http.Request) { <-time.After(20 * time.Millisecond) })
		w := newFixture(t, harness.Options{DB: dbURL})
		var ids []string
		for round := range depthtest.Of(2, 4) {
			for i := range depthtest.Of(6, 12) {
				ids = append(ids, w.Submit(script("true", hook(in.URL+fmt.Sprintf("/%d-%d", round, i)))).ID)
			}
			harness.Eventually(t, awhile, "some were told", func() bool { return len(in.all()) > 3*round })
			w.Kill()
			w.again()
		}
		names := map[string]map[string]int{} // how often a run's deliveries came, by their names
		for _, id := range ids {
			r := w.Await(id)
			if r.Status != "succeeded" && r.Status != "interrupted" {
				t.Errorf("%s is %s: %s", id, r.Status, r.Error)
			}
			if got := w.settled(id, 1); got[0].Status != "delivered" {
				t.Errorf("%s: %+v", id, got)
			}
			names[id] = map[string]int{}
		}
		for _, l := range in.all() {
			body := decoded(t, l.body)
			id, _ := body["id"].(string)
			if names[id] == nil || body["event"] != "run.finished" || !strings.HasPrefix(l.header.Get("Writ-Delivery"), "nty_") {
				t.Fatalf("%v %s", l.header, l.body)
			}
			names[id][l.header.Get("Writ-Delivery")]++
		}
		for id, by := range names {
			if len(by) != 1 {
				t.Errorf("%s was told under the names %v", id, by)
			}
			for name, n := range by {
				if n > 3 {
					t.Errorf("%s came %d times", name, n)
				}
			}
		}
	})
}
