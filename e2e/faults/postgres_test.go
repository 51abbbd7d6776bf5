package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestPostgresRestarts crashes the database repeatedly while clients submit and runs print: every run continues, its
// log is complete, readiness is correct, and nothing is executed twice.
// Keeps F08.
func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	s := harness.Start(t, harness.Options{DB: cluster.URL(), Flags: []string{"--executors", "8"}})
	h := harness.NewHistory(t)
	stop := filepath.Join(harness.Shared(t), "stop")
	long := h.Script("i=0; while [ ! -e " + stop + " ]; do echo line $i; i=$((i+1)); sleep 0.02; done; echo end $i")
	var running []string
	for n := range 4 {
		running = append(running, h.Insist(s.Client, long, fmt.Sprint("long", n)).ID)
	}
	var clients sync.WaitGroup
	done := make(chan struct{})
	for n := range 3 {
		clients.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				case <-time.After(depthtest.Of(250*time.Millisecond, 50*time.Millisecond)):
				}
				h.Insist(s.Client, h.Script("echo short"), fmt.Sprintf("short-%d-%d", n, k))
			}
		})
	}
	for range depthtest.Of(2, 3) {
		<-time.After(500 * time.Millisecond)
		if err := cluster.Stop(t.Context(), dbtest.Immediate); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, time.Minute, "the server says that it is not ready", func() bool { return readiness(s) == 503 })
		if a := s.Do(http.MethodPost, "/v1/runs", h.Script("true")); a.Status != http.StatusServiceUnavailable {
			t.Errorf("a submission without a database: %d %s", a.Status, a.Body)
		}
		if err := cluster.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, time.Minute, "the server says that it is ready", func() bool { return readiness(s) == 200 })
	}
	close(done)
	clients.Wait()
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := h.Check(s.Client)
	for _, r := range all {
		if r.Status != "succeeded" {
			t.Errorf("run %s is %s (%s)", r.ID, r.Status, r.Error)
		}
	}
	for _, id := range running {
		checkCounted(t, s.Log(id))
	}
	t.Logf("%d runs", len(all))
}

func readiness(s *harness.Server) int { return s.Do(http.MethodGet, "/readyz", nil).Status }

// checkCounted checks that a log of numbered lines has each line once and in order.
func checkCounted(t *testing.T, log string) {
	t.Helper()
	n := strings.Count(log, "\n") - 1
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	fmt.Fprintf(&want, "end %d\n", n)
	if log != want.String() {
		t.Errorf("the log of %d lines has gaps: %.300q", n, log)
	}
}

// TestAnswerOfACommitIsLost cuts the connection to the database after a commit and before its answer: at a
// submission, and at every step of a run. The client gets the run, or an error that the outcome is unknown.
// Keeps F10.
func TestAnswerOfACommitIsLost(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	proxy := harness.NewProxy(t, cluster.Socket())
	url := "postgres://postgres@" + proxy.Addr() + "/postgres?sslmode=disable"
	s := harness.Start(t, harness.Options{DB: url})
	h := harness.NewHistory(t)
	for n := range 3 {
		key := fmt.Sprintf("lost-answer-%d", n)
		body := h.Script("echo said")
		proxy.CutAfterCommit(key, 1)
		r, a, err := h.Submit(s.Client, body, "Idempotency-Key", key)
		if err != nil || proxy.Cuts() != n+1 {
			t.Fatalf("%s: %v, %d cuts", key, err, proxy.Cuts())
		}
		if a.Status != http.StatusServiceUnavailable && a.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", key, a.Status, a.Body)
		}
		if a.Status == http.StatusServiceUnavailable && !strings.Contains(string(a.Body), "may have been made or not") {
			t.Errorf("%s does not say that the outcome is unknown: %s", key, a.Body)
		}
		again := h.Insist(s.Client, body, key)
		if r.ID != "" && r.ID != again.ID {
			t.Errorf("%s gave %s and %s", key, r.ID, again.ID)
		}
		if _, total := s.Runs("limit=50"); total != n+1 {
			t.Errorf("%s: %d runs, want %d", key, total, n+1)
		}
	}
	gate := filepath.Join(harness.Shared(t), "gate")
	r := h.Insist(s.Client, h.Script("while [ ! -e "+gate+" ]; do sleep 0.02; done; echo said"), "cut-while-running")
	harness.Eventually(t, time.Minute, "it runs", func() bool { return h.Starts(r.ID) == 1 })
	before := proxy.Cuts()
	proxy.CutAfterCommit(r.ID, 3) // one of these transactions is the end of the run
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Check(s.Client) {
		if r.Status != "succeeded" || s.Log(r.ID) != "said\n" {
			t.Errorf("run %s is %s (%s): %q", r.ID, r.Status, r.Error, s.Log(r.ID))
		}
	}
	if proxy.Cuts() == before {
		t.Error("no commit of the run was cut")
	}
}
