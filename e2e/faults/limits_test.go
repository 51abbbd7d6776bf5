package faults

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestFileDescriptorsRunOut gives a server few descriptors, and uses them up with idle connections and with runs.
// Every acknowledged run ends, with a reason if it could not be started. With free descriptors the server works as
// before.
// Keeps F38.
func TestFileDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Wrap: []string{"prlimit", "--nofile=64:64"},
		Flags: []string{"--executors", "16"}})
	h := harness.NewHistory(t)
	for n := range 24 {
		h.Insist(s.Client, h.Script("sleep 0.5; echo said"), fmt.Sprint("run", n))
	}
	var idle []net.Conn
	for range 80 {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.URL, "http://"), time.Second)
		if err != nil {
			break
		}
		idle = append(idle, c)
	}
	<-time.After(time.Second) // the runs meet a server without descriptors
	for _, c := range idle {
		_ = c.Close()
	}
	harness.Eventually(t, time.Minute, "the server answers again", func() bool {
		a, err := s.Try("GET", "/readyz", nil)
		return err == nil && a.Status == 200
	})
	counts := map[string]int{}
	for _, r := range h.Check(s.Client) {
		counts[r.Status]++
		if r.Status == "failed" && !strings.Contains(r.Error, "too many open files") {
			t.Errorf("run %s failed and does not say why: %s", r.ID, r.Error)
		}
		if r.Status != "succeeded" && (r.Status != "failed" || h.Starts(r.ID) != 0) {
			t.Errorf("run %s is %s (%s), started %d times", r.ID, r.Status, r.Error, h.Starts(r.ID))
		}
	}
	if r := s.Await(h.Insist(s.Client, h.Script("echo after"), "after").ID); r.Status != "succeeded" {
		t.Errorf("afterwards a run is %s (%s)", r.Status, r.Error)
	}
	t.Logf("%d idle connections; runs: %v", len(idle), counts)
}

// TestMemoryOfAToolRunsOut executes runs whose tool reaches its memory limit or is killed for it: they fail with the
// exit code and the reason.
func TestMemoryOfAToolRunsOut(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	h := harness.NewHistory(t)
	limited := s.Await(h.Insist(s.Client, h.Script("ulimit -v 100000; python3 -c 'b = bytearray(1 << 30)'"), "limited").ID)
	if limited.Status != "failed" || limited.ExitCode == nil || *limited.ExitCode != 1 ||
		!strings.Contains(s.Log(limited.ID), "MemoryError") {
		t.Errorf("over its limit: %s, exit %v (%s)\n%s", limited.Status, limited.ExitCode, limited.Error, s.Log(limited.ID))
	}
	killed := s.Await(h.Insist(s.Client, h.Script("kill -KILL $$"), "killed").ID)
	if killed.Status != "failed" || killed.ExitCode == nil || *killed.ExitCode != 137 ||
		!strings.Contains(killed.Error, "signal 9") {
		t.Errorf("killed: %s, exit %v (%s)", killed.Status, killed.ExitCode, killed.Error)
	}
	h.Check(s.Client)
}

// TestProcessesRunOut limits the processes and threads of a server and its children. The server runs as another user,
// since root has no such limit. Every run ends with a reason. The server may crash, and then continues at its next
// start.
// Keeps F38.
func TestProcessesRunOut(t *testing.T) {
	t.Parallel()
	const user = "61999" // no account has this id, as in a container with an arbitrary one
	s := harness.Start(t, harness.Options{Flags: []string{"--executors", "12", "--kill-grace", "1s"}, Wrap: []string{
		"setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps", "+dac_override", "--ambient-caps",
		"+dac_override",
		"prlimit", "--nproc=60:60",
	}})
	h := harness.NewHistory(t)
	died := 0
	// try calls ask, and restarts the server with fewer executors if it has died.
	try := func(ask func() error) {
		for ask() != nil {
			s.Wait(time.Minute)
			o := s.Options
			o.Flags = []string{"--executors", "2"}
			harness.Eventually(t, time.Minute, "the server starts again", func() (up bool) {
				died++
				next, err := harness.Launch(t, o) // processes of the previous one may still use the limit for a moment
				if err == nil {
					s = next
				}
				return err == nil
			})
		}
	}
	for n := range 24 {
		body := h.Script("for i in 1 2 3 4 5; do sleep 0.3 & done; wait; echo said")
		try(func() error {
			_, _, err := h.Submit(s.Client, body, "Idempotency-Key", fmt.Sprint("run", n))
			return err
		})
	}
	harness.Eventually(t, time.Minute, "every run has ended", func() bool {
		var a harness.Answer
		try(func() (err error) {
			a, err = s.Try("GET", "/v1/runs?status=pending&status=running", nil)
			return err
		})
		return a.Status == 200 && strings.Contains(string(a.Body), `"total":0`)
	})
	s.Kill()
	o := s.Options
	o.Wrap = nil // the record is read from a server that cannot die of the limit in the meantime
	s = harness.Start(t, o)
	counts := map[string]int{}
	for _, r := range h.Check(s.Client) {
		counts[r.Status]++
		if r.Status == "interrupted" && died == 0 || r.Status == "canceled" {
			t.Errorf("run %s is %s (%s)", r.ID, r.Status, r.Error)
		}
	}
	if len(h.Acked()) != 24 {
		t.Errorf("%d of 24 submissions were acknowledged", len(h.Acked()))
	}
	if r := s.Await(h.Insist(s.Client, h.Script("echo after"), "after").ID); r.Status != "succeeded" {
		t.Errorf("afterwards a run is %s (%s)", r.Status, r.Error)
	}
	t.Logf("runs: %v; the server died %d times", counts, died)
}
