//go:build long

package faults

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// TestFailoverToASynchronousStandby lets the primary die under load and promotes its standby: nothing that was
// acknowledged is lost, runs go on, and none is executed twice.
// Keeps F09.
func TestFailoverToASynchronousStandby(t *testing.T) {
	t.Parallel()
	primary := dbtest.NewCluster(t)
	standby := primary.Standby(t, true)
	proxy := harness.NewProxy(t, primary.Socket())
	s := harness.Start(t, harness.Options{DB: "postgres://postgres@" + proxy.Addr() + "/postgres?sslmode=disable"})
	h := harness.NewHistory(t)
	for n := range 20 {
		h.Insist(s.Client, h.Script("for i in $(seq 50); do echo line; sleep 0.1; done"), fmt.Sprint("before", n))
	}
	if err := primary.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	_, _, _ = h.Submit(s.Client, h.Script("echo meanwhile"), "Idempotency-Key", "meanwhile") // which may be lost
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Switch(standby.Socket())
	for n := range 5 {
		h.Insist(s.Client, h.Script("echo after"), fmt.Sprint("after", n))
	}
	for _, r := range h.Check(s.Client) {
		if r.Status != "succeeded" {
			t.Errorf("run %s is %s (%s)", r.ID, r.Status, r.Error)
		}
	}
}

// TestFailoverToAStandbyThatIsBehind promotes a standby that lacks acknowledged changes. The loss is not hidden: the
// heads that were kept outside of the database stop the next start until an admin accepts it.
// Keeps F09.
func TestFailoverToAStandbyThatIsBehind(t *testing.T) {
	t.Parallel()
	primary := dbtest.NewCluster(t)
	standby := primary.Standby(t, false)
	proxy := harness.NewProxy(t, primary.Socket())
	o := harness.Options{DB: "postgres://postgres@" + proxy.Addr() + "/postgres?sslmode=disable", Dir: t.TempDir()}
	s := harness.Start(t, o)
	o.Admin = s.Admin
	kept := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo kept"}).ID)
	harness.Eventually(t, time.Minute, "the standby has caught up", func() bool { return caughtUp(t, primary) })
	if err := standby.Stop(t.Context(), dbtest.Fast); err != nil {
		t.Fatal(err)
	}
	lost := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo lost"}).ID)
	s.Stop()
	if err := primary.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	if err := standby.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Switch(standby.Socket())
	if _, err := harness.Launch(t, o); err == nil || !strings.Contains(err.Error(), "accept-rollback") {
		t.Fatalf("a start over a standby that is behind: %v", err)
	}
	if out, code := writ(t, o, nil, "audit", "accept-rollback", "--yes", "--reason", "failover", "--db", o.DB,
		"--data-dir", filepath.Join(o.Dir, "data")); code != 0 {
		t.Fatalf("accept-rollback: %d %s", code, out)
	}
	s = harness.Start(t, o)
	if r := s.Get(kept.ID); r.Status != "succeeded" {
		t.Errorf("the run that was kept is %s", r.Status)
	}
	if a := s.Do(http.MethodGet, "/v1/runs/"+lost.ID, nil); a.Status != http.StatusNotFound {
		t.Errorf("the run that was lost: %d %s", a.Status, a.Body)
	}
	s.Intact()
}

// caughtUp reports whether a standby has applied everything.
func caughtUp(t *testing.T, primary *dbtest.Cluster) bool {
	t.Helper()
	var n int
	err := dbtest.Connect(t, db.Config{URL: primary.URL()}).Read(t.Context()).QueryRowContext(t.Context(),
		"SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}
