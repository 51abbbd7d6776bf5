package scenarios

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/natstest"
)

// ended reads from a server's metrics how many ends of runs its subscriber received.
func ended(s *harness.Server) int {
	n := 0
	for line := range strings.Lines(string(s.As("").Do(http.MethodGet, "/metrics", nil).Body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok &&
			strings.HasPrefix(name, "writ_run_duration_seconds_count{") {
			k, _ := strconv.Atoi(value)
			n += k
		}
	}
	return n
}

// TestTwoServersShareABus lets two servers over one Postgres share their domain events through JetStream: one of them
// receives each end of a run, whichever server executed the run, and none is lost.
func TestTwoServersShareABus(t *testing.T) {
	t.Parallel()
	bus := []string{"--events", natstest.Start(t), "--executors", "4"}
	url := harness.Postgres(t)
	a := harness.Start(t, harness.Options{DB: url, Flags: bus})
	b := harness.Start(t, harness.Options{DB: url, Flags: bus, Admin: a.Admin})
	const n = 24
	var ids []string
	for i := range n {
		ids = append(ids, []*harness.Server{a, b}[i%2].Submit(harness.Body{"tool": "bash", "command": "echo hi"}).ID)
	}
	workers := map[string]bool{}
	for _, id := range ids {
		r := b.Await(id)
		if r.Status != "succeeded" {
			t.Errorf("run %s: %s (%s)", id, r.Status, r.Error)
		}
		workers[r.Worker] = true
	}
	harness.Eventually(t, 30*time.Second, "every end is told", func() bool { return ended(a)+ended(b) >= n })
	if got := ended(a) + ended(b); got >= 2*n {
		t.Errorf("%d ends of %d runs were told: each server heard of all", got, n)
	}
	t.Logf("%d of the ends were told to one server, %d to the other; %d servers executed", ended(a), ended(b),
		len(workers))
}
