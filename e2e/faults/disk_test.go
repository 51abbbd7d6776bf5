package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
)

// smallDisk mounts a separate file system on a directory, which needs root.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small tmpfs, which this test needs root for: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount the tmpfs: %v", err)
		}
	})
}

// ballast fills a disk except for the given number of bytes.
func ballast(t *testing.T, dir string, leave int64) (file string) {
	t.Helper()
	file = filepath.Join(dir, "ballast")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64 << 10, 1 << 10, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, f.Truncate(end-leave)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDatabaseDiskIsFull fills the disk of an SQLite database during a run. Writes are refused with the reason and
// reads work. With free space everything continues without a restart, and nothing acknowledged is missing.
// Keeps F11.
func TestDatabaseDiskIsFull(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	smallDisk(t, disk, "12m")
	dir := t.TempDir()
	s := harness.Start(t, harness.Options{Dir: dir, DB: filepath.Join(disk, "writ.db"),
		Flags: []string{"--executors", "1"}})
	h := harness.NewHistory(t)
	gate := filepath.Join(dir, "gate")
	first := h.Insist(s.Client, h.Script("while [ ! -e "+gate+" ]; do sleep 0.02; done; echo through"), "first")
	harness.Eventually(t, time.Minute, "it runs", func() bool { return h.Starts(first.ID) == 1 })
	full := ballast(t, disk, depthtest.Of[int64](128<<10, 1<<20))
	refused := 0
	for n := 0; refused < 20 && n < 3000; n++ {
		body := h.Script("true")
		body["env"] = harness.Body{"PADDING": strings.Repeat("x", 4000)}
		_, a, err := h.Submit(s.Client, body, "Idempotency-Key", fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == http.StatusCreated {
			continue
		}
		refused++
		if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "disk") &&
			!strings.Contains(string(a.Body), "may have been made or not") {
			t.Fatalf("refused as %d %s", a.Status, a.Body)
		}
		if rows, _ := s.Runs("limit=5"); len(rows) == 0 {
			t.Error("reads find nothing")
		}
	}
	if refused < 20 || readiness(s) != 200 {
		t.Fatalf("%d submissions were refused, readiness is %d", refused, readiness(s))
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-time.After(300 * time.Millisecond) // the run ends while nothing can be stored
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	h.Insist(s.Client, h.Script("echo after"), "after")
	for _, r := range h.Check(s.Client) {
		if r.Status != "succeeded" {
			t.Errorf("run %s is %s (%s)", r.ID, r.Status, r.Error)
		}
	}
	if log := s.Log(first.ID); log != "through\n" {
		t.Errorf("the run that went on says %q", log)
	}
	t.Logf("%d runs were acknowledged", len(h.Acked()))
}

// TestSpoolDiskIsFull makes a run print more than the disk of the spools and the memory can hold while the database
// is unavailable. The run continues, its log reports the number of missing bytes, and its result is stored.
// Keeps F13.
func TestSpoolDiskIsFull(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	dir := t.TempDir()
	disk := filepath.Join(dir, "data", "spool")
	smallDisk(t, disk, "1m")
	s := harness.Start(t, harness.Options{Dir: dir, DB: cluster.URL()})
	h := harness.NewHistory(t)
	gate, through := filepath.Join(harness.Shared(t), "gate"), filepath.Join(harness.Shared(t), "through")
	lines := depthtest.Of(100_000, 200_000)
	r := h.Insist(s.Client, h.Script(fmt.Sprintf(
		"while [ ! -e %s ]; do sleep 0.02; done\nseq -f 'this is line %%08.0f of a talkative run' 1 %d\ntouch %s\nexit 3",
		gate, lines, through)), "flood")
	harness.Eventually(t, time.Minute, "it runs", func() bool { return h.Starts(r.ID) == 1 })
	if err := cluster.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, "the run has said all without a database", func() bool {
		_, err := os.Stat(through)
		return err == nil
	})
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, "the server is ready", func() bool { return readiness(s) == 200 })
	r = h.Check(s.Client)[0]
	if r.Status != "failed" || r.ExitCode == nil || *r.ExitCode != 3 || !r.Warned("log_truncated") {
		t.Errorf("ended as %s, exit %v, warnings %v (%s)", r.Status, r.ExitCode, r.Warnings, r.Error)
	}
	a := s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/logs", nil)
	omitted, err := strconv.ParseInt(a.Header.Get("Service-Log-Omitted-Bytes"), 10, 64)
	printed := int64(len("this is line 00000001 of a talkative run\n")) * int64(lines)
	if err != nil || omitted == 0 || a.Header.Get("Service-Log-Truncated") != "1" || r.LogBytes != printed {
		t.Errorf("omitted %q, truncated %q, %d bytes of log, printed %d", a.Header.Get("Service-Log-Omitted-Bytes"),
			a.Header.Get("Service-Log-Truncated"), r.LogBytes, printed)
	}
	if !strings.HasPrefix(string(a.Body), "this is line 00000001 ") ||
		!strings.HasSuffix(string(a.Body), fmt.Sprintf("%08d of a talkative run\n", lines)) {
		t.Errorf("the log lacks its beginning or its end: %.80q", a.Body)
	}
	t.Logf("%d of %d bytes are kept, %d omitted", len(a.Body), printed, omitted)
}

// TestNoDiskSpaceForARun fills the runs' directory before a run is claimed: the run waits, and executes when there is
// free space.
// Keeps F13.
func TestNoDiskSpaceForARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := filepath.Join(dir, "runs")
	smallDisk(t, disk, "256k")
	s := harness.Start(t, harness.Options{Dir: dir, Flags: []string{"--executors", "2", "--runs-dir", disk}})
	h := harness.NewHistory(t)
	full := ballast(t, disk, 0)
	r := h.Insist(s.Client, h.Script("echo said"), "one")
	harness.Eventually(t, time.Minute, "the server says what is wrong", func() bool {
		return strings.Contains(s.Output(), "no space left on device")
	})
	if got := s.Get(r.ID); got.Ended() {
		t.Errorf("without room the run is %s (%s)", got.Status, got.Error)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if r = h.Check(s.Client)[0]; r.Status != "succeeded" {
		t.Errorf("with room the run is %s (%s)", r.Status, r.Error)
	}
}
