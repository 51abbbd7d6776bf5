package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestCrashAroundTheCommitOfASubmission kills the server before and after the commit that makes a run. The client
// gets no answer. A retry with its key returns or makes the one run.
// Keeps F01, F02.
func TestCrashAroundTheCommitOfASubmission(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		admin := ""
		for point, kept := range map[string]bool{"request-before-commit": false, "request-after-commit": true} {
			tr := newTrap(t, dbURL, point)
			h := harness.NewHistory(t)
			s := tr.start(&admin)
			_, before := s.Runs("limit=50")
			requests := map[string]harness.Body{
				"/v1/runs":      h.Script("echo done"),
				"/v1/pipelines": {"name": "p", "steps": []harness.Body{{"name": "only", "tool": "bash", "command": h.Note()}}},
			}
			for path, body := range requests {
				tr.set(1)
				if a, err := s.Try(http.MethodPost, path, body, "Idempotency-Key", point); err == nil {
					t.Fatalf("%s, %s: answered %d %s", point, path, a.Status, a.Body)
				}
				s.Wait(time.Minute)
				s = tr.release(s)
				rows, total := s.Runs("limit=50")
				if was := total > before; was != kept {
					t.Errorf("%s, %s: the run exists: %v, want %v", point, path, was, kept)
				}
				r, a, err := h.Post(s.Client, path, body, "Idempotency-Key", point)
				if err != nil || a.Status != 201 || (a.Header.Get("Idempotent-Replay") == "true") != kept {
					t.Fatalf("%s, %s, again: %v %d %s %s", point, path, err, a.Status, a.Header.Get("Idempotent-Replay"), a.Body)
				}
				if kept && r.ID != rows[0].ID {
					t.Errorf("%s, %s: the key gives %s, there was %s", point, path, r.ID, rows[0].ID)
				}
				s.Await(r.ID) // a run under way would be interrupted by the next crash
				if _, now := s.Runs("limit=50"); now != before+1 {
					t.Errorf("%s, %s: %d runs after %d", point, path, now, before)
				}
				before++
			}
			for _, r := range h.Check(s.Client) {
				if r.Status != "succeeded" {
					t.Errorf("%s: run %s is %s (%s)", point, r.ID, r.Status, r.Error)
				}
			}
		}
	})
}

// TestCrashOfAnExecution kills the server at each point of a run's life. The tool starts at most once. The next start
// executes a run that had not begun. A run that had begun is interrupted, unless its ending was stored.
// Keeps F03, F04, F05, F06.
func TestCrashOfAnExecution(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		admin := ""
		for _, c := range []struct {
			point, status string
			starts        int
		}{
			{"before-claim", "succeeded", 1}, {"after-claim", "succeeded", 1}, {"after-begin", "interrupted", 0},
			{"after-exit", "interrupted", 1}, {"before-finish", "succeeded", 1}, {"after-finish", "succeeded", 1},
		} {
			tr := newTrap(t, dbURL, c.point)
			h := harness.NewHistory(t)
			s := tr.start(&admin)
			tr.set(1)
			body := h.Script("(setsid sleep 300 >/dev/null 2>&1 &)\necho said; echo '{\"a\":1}' > $WRIT_OUTPUTS")
			_, _, _ = h.Submit(s.Client, body, "Idempotency-Key", c.point) // the answer may be lost with the server
			s.Wait(time.Minute)
			s = tr.release(s)
			h.Insist(s.Client, body, c.point)
			r := h.Check(s.Client)[0]
			if r.Status != c.status || h.Starts(r.ID) != c.starts {
				t.Errorf("%s: %s (%q), started %d times", c.point, r.Status, r.Error, h.Starts(r.ID))
			}
			if r.Status == "succeeded" && (s.Log(r.ID) != "said\n" || r.Outputs["a"] == nil || r.ExitCode == nil) {
				t.Errorf("%s: log %q, outputs %v", c.point, s.Log(r.ID), r.Outputs)
			}
			s.Stop()
		}
	})
}

// TestEndingOfALostLease kills a server before the end of a run is stored, and restarts it after another server has
// interrupted the run. The reported end stays, and the ending that could not be stored is kept as evidence.
// Keeps F05.
func TestEndingOfALostLease(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL == "" {
			return // one server owns an SQLite file
		}
		tr := newTrap(t, dbURL, "before-finish")
		h := harness.NewHistory(t)
		first := harness.Start(t, tr.o)
		second := harness.Start(t, harness.Options{DB: dbURL, Admin: first.Admin, Flags: []string{"--executors", "0"}})
		tr.set(1)
		body := h.Script("echo said")
		_, _, _ = h.Submit(first.Client, body, "Idempotency-Key", "lost") // the answer may be lost with the server
		first.Wait(time.Minute)
		r := h.Insist(second.Client, body, "lost")
		if !depthtest.Long {
			second.SetLease(r.ID, -time.Second)
		}
		r = second.Until(r.ID, time.Minute, harness.Run.Ended)
		if r.Status != "interrupted" || !strings.Contains(r.Error, "stopped reporting") {
			t.Errorf("given up as %s (%q)", r.Status, r.Error)
		}
		line := `level=WARN msg="lease lost: the worker stopped reporting" run=` + r.ID + " worker="
		harness.Eventually(t, time.Minute, "the log tells the lost lease", func() bool {
			return strings.Contains(second.Output(), line)
		})
		again := tr.release(first)
		harness.Eventually(t, time.Minute, "the evidence is kept", func() bool {
			return strings.Contains(again.Output(), "the lease of a run is lost")
		})
		evidence(t, tr.o.Dir, r.ID)
		if got := h.Check(again.Client)[0]; got.Status != r.Status || got.Error != r.Error {
			t.Errorf("the run was %s (%q) and is %s (%q)", r.Status, r.Error, got.Status, got.Error)
		}
	})
}
