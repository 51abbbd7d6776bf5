package faults

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestCrashOfARecovery kills the server before the end of a run is stored, and then each restarted server one commit
// later during its recovery. The run ends once, with the outcome of its process.
// Keeps F05, F06.
func TestCrashOfARecovery(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		admin := ""
		tr := newTrap(t, dbURL, "before-finish")
		h := harness.NewHistory(t)
		s := tr.start(&admin)
		tr.set(1)
		body := h.Script("echo said; exit 4")
		_, _, _ = h.Submit(s.Client, body, "Idempotency-Key", "one") // the answer may be lost with the server
		s.Wait(time.Minute)
		crashes := 1
		// All restarts together may take longer than a lease, and whoever lost it is interrupted.
		holds := func() { s.Alter("UPDATE runs SET lease_expires_at = ? WHERE status = 'running'", time.Hour) }
		for _, point := range []string{"unit-before-commit", "unit-after-commit"} {
			for pass := 2; pass <= depthtest.Of(3, 5); pass++ {
				tr.set(pass)
				holds()
				o := s.Options
				o.Env = []string{"WRIT_CRASH_POINT=" + point, "WRIT_CRASH_ARM=" + tr.arm}
				if again, err := harness.Launch(t, o); err == nil {
					// The server is ready and its recovery continues: it reaches the point, or has nothing left to
					// commit.
					for until := time.Now().Add(300 * time.Millisecond); harness.Alive(again.PID) && time.Now().Before(until); {
						<-time.After(10 * time.Millisecond)
					}
					if harness.Alive(again.PID) {
						again.Kill()
						continue
					}
				}
				crashes++
			}
		}
		holds()
		s = tr.release(s)
		h.Insist(s.Client, body, "one")
		r := h.Check(s.Client)[0]
		if r.Status != "failed" || r.ExitCode == nil || *r.ExitCode != 4 || h.Starts(r.ID) != 1 || s.Log(r.ID) != "said\n" {
			t.Errorf("%s, exit %v (%s), started %d times: %q", r.Status, r.ExitCode, r.Error, h.Starts(r.ID), s.Log(r.ID))
		}
		t.Logf("%d crashes", crashes)
	})
}
