package relay

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// cut deletes the entries after a size, and every stored head in the database and in the data directory. An attacker
// with access to the server's machine can do no more.
func (w *fixture) cut(size int64) {
	w.t.Helper()
	for _, statement := range []string{
		fmt.Sprintf("DELETE FROM audit_entries WHERE seq > %d", size),
		fmt.Sprintf("DELETE FROM audit_private WHERE seq > %d", size),
		"DELETE FROM audit_anchors", "DELETE FROM audit_tiles",
		fmt.Sprintf("UPDATE audit_head SET size = %d, hash = (SELECT hash FROM audit_entries WHERE seq = %d)", size, size),
	} {
		w.Alter(statement)
	}
	if err := os.Remove(filepath.Join(w.Dir, "data", "audit.head")); err != nil {
		w.t.Fatal(err)
	}
}

// verdict is the server's report about its chain.
type verdict struct {
	OK             bool
	Count          int64
	Reason         string
	AnchorProblems []struct {
		Kind, Problem string
		Size          int64
	} `json:"anchor_problems"`
}

func (w *fixture) verify() (v verdict) {
	w.t.Helper()
	a := w.Do(http.MethodGet, "/v1/audit/verify", nil)
	if a.JSON(w.t, &v); a.Status != http.StatusOK {
		w.t.Fatalf("verify: %d %s", a.Status, a.Body)
	}
	return v
}

// TestWorkersRememberTheHead rolls a server back, so that nothing on its machine has the newer head. A worker presents
// the head that it received: the chain fails verification, and the server does not start until the rollback is
// accepted.
func TestWorkersRememberTheHead(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		for _, how := range []string{"relay", "database"} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, fresh(t, dbURL))
				o := harness.WorkerOptions{Server: w.URL}
				if how == "database" {
					o = harness.WorkerOptions{DB: w.DB, Flags: w.keys()}
				}
				relay := harness.StartWorker(t, o)
				for range 5 {
					w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
				}
				w.Stop() // its last act is to sign the head
				w = w.again()
				signed := w.verify().Count
				harness.Eventually(t, 2*time.Minute, "the worker keeps the head", func() bool {
					<-time.After(100 * time.Millisecond)
					return relayHead(t, relay) >= signed-2
				})
				relay.Stop() // it may be given a newer head until it has ended
				kept := relayHead(t, relay)
				w.Kill()
				w.cut(kept - 6) // the next starts make entries again, and stay below it
				w = w.again()   // nothing on this machine has the newer head
				if v := w.verify(); !v.OK {
					t.Fatalf("something on this machine still knows: %+v", v)
				}
				relay = relay.Again()
				harness.Eventually(t, 2*time.Minute, "the worker shows its head", func() bool {
					<-time.After(300 * time.Millisecond) // each question reads the whole chain
					return !w.verify().OK
				})
				v := w.verify()
				if v.Reason != "anchor_unsatisfied" || len(v.AnchorProblems) != 1 || v.AnchorProblems[0].Kind != "worker" ||
					v.AnchorProblems[0].Problem != "tail_missing" || v.AnchorProblems[0].Size != kept {
					t.Errorf("verify says %+v, want the head of %d to be missed", v, kept)
				}
				if text := w.Output() + relay.Output(); strings.Count(text, "level=ERROR") != 1 {
					t.Errorf("it is told in no log, or more than once:\n%s", text)
				}
				w.Kill()
				relay.Stop()
				if _, err := harness.Launch(t, w.Options); err == nil || !strings.Contains(err.Error(), "accept-rollback") {
					t.Errorf("the start over a chain that a worker refutes: %v", err)
				}
				w.command("audit", "accept-rollback", "--yes", "--reason", "restored from a copy")
				w = w.again()
				relay = relay.Again()
				if r := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID); r.Status != "succeeded" {
					t.Errorf("after the rollback: %s (%s)", r.Status, r.Error)
				}
				if v := w.verify(); !v.OK {
					t.Errorf("an accepted rollback is told again: %+v", v)
				}
			})
		}
	})
}

// relayHead returns the size of the largest head that a worker has stored, 0 for none.
func relayHead(t *testing.T, r *harness.Worker) (size int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Dir, "data", "heads", "*.note"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // replaced meanwhile
		}
		lines := strings.SplitN(string(raw), "\n", 3)
		var n int64
		if len(lines) == 3 {
			if _, err := fmt.Sscan(lines[1], &n); err != nil {
				t.Fatal(err)
			}
		}
		size = max(size, n)
	}
	return size
}

// command runs writ on the install of the stopped server.
func (w *fixture) command(args ...string) {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), harness.Binary(w.t),
		append(args, "--db", w.DB, "--data-dir", filepath.Join(w.Dir, "data"))...)
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("writ %v: %v\n%s", args, err, out)
	}
}
