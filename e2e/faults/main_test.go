// Package faults tests Writ's guarantees under faults with the real binary: processes that die at the worst moment,
// databases that restart or do not answer, disks that are full or fail, and exhausted limits.
package faults

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for processes that start and end, and they may wait at the same time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}

// trap starts servers that kill themselves at a point once they are armed.
type trap struct {
	t   *testing.T
	arm string
	o   harness.Options
}

func newTrap(t *testing.T, dbURL, point string, flags ...string) *trap {
	t.Helper()
	tr := &trap{t: t, arm: filepath.Join(t.TempDir(), "arm")}
	tr.o = harness.Options{
		DB: dbURL, Dir: t.TempDir(), Flags: flags, Tags: []string{"crashpoints"},
		Env: []string{"WRIT_CRASH_POINT=" + point, "WRIT_CRASH_ARM=" + tr.arm},
	}
	return tr
}

// set makes the server die at its n-th pass through the point from now on.
func (tr *trap) set(n int) {
	tr.t.Helper()
	if err := os.WriteFile(tr.arm+".new", []byte(strconv.Itoa(n)), 0o600); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Rename(tr.arm+".new", tr.arm); err != nil {
		tr.t.Fatal(err)
	}
}

// start starts the server. A database that another trap has used already has an admin.
func (tr *trap) start(admin *string) *harness.Server {
	tr.t.Helper()
	if tr.o.DB != "" {
		tr.o.Admin = *admin
	}
	s := harness.Start(tr.t, tr.o)
	*admin = s.Admin
	return s
}

// release disarms the trap and starts the server again.
func (tr *trap) release(s *harness.Server) *harness.Server {
	tr.t.Helper()
	if err := os.Remove(tr.arm); err != nil {
		tr.t.Fatal(err)
	}
	return s.Again()
}

// countLines counts the lines of a file.
func countLines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// evidence checks that the directory of a lost run is kept below a server's own.
func evidence(t *testing.T, dir, runID string) {
	t.Helper()
	var kept []string
	harness.Eventually(t, time.Minute, "the evidence of "+runID+" is kept", func() bool {
		var err error
		kept, err = filepath.Glob(filepath.Join(dir, "data", "spool", "lost", "*"+runID+"*"))
		return err == nil && len(kept) == 1
	})
	ending, err := os.ReadFile(filepath.Join(kept[0], "state.jsonl"))
	if err != nil || !strings.Contains(string(ending), "succeeded") {
		t.Errorf("the kept ending: %s %v", ending, err)
	}
}
