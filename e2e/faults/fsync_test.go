package faults

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// lie makes every fsync of a process fail until heal is called.
func lie(t *testing.T, pid int) (heal func()) {
	t.Helper()
	cmd := exec.Command("strace", "-f", "-q", "-o", filepath.Join(t.TempDir(), "trace"), "-p", strconv.Itoa(pid),
		"-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatalf("strace, which this test needs: %v", err)
	}
	healed := false
	heal = func() {
		if !healed {
			healed = true
			_ = cmd.Process.Signal(syscall.SIGTERM) // it detaches from the process, which continues
			_ = cmd.Wait()                          // its exit code is the signal's
		}
	}
	t.Cleanup(heal)
	harness.Eventually(t, time.Minute, "every thread is traced", func() bool { return traced(t, pid) })
	return heal
}

// traced reports whether every thread of a process has a tracer.
func traced(t *testing.T, pid int) bool {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("threads of %d: %v", pid, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), "TracerPid:\t0\n") {
			return false
		}
	}
	return true
}

// TestDiskThatLies makes every fsync fail from a moment on. The server refuses changes that it cannot make durable,
// and continues when fsync works again. After a restart everything acknowledged exists.
// Keeps F12.
func TestDiskThatLies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--executors", "0"}})
	h := harness.NewHistory(t)
	for n := range 20 {
		h.Insist(s.Client, h.Script("true"), fmt.Sprint("before", n))
	}
	heal := lie(t, s.PID)
	for n := range 10 {
		_, a, err := h.Submit(s.Client, h.Script("true"), "Idempotency-Key", fmt.Sprint("while", n))
		if err != nil || a.Status != http.StatusServiceUnavailable {
			t.Fatalf("a submission that the disk does not take: %v %d %s", err, a.Status, a.Body)
		}
		if n == 0 && !strings.Contains(string(a.Body), "may have been made or not") {
			t.Errorf("the refusal does not say that the outcome is unknown: %s", a.Body)
		}
		if a := s.Do(http.MethodGet, "/v1/runs/"+h.Acked()[0], nil); a.Status != http.StatusOK {
			t.Errorf("a read meanwhile: %d %s", a.Status, a.Body)
		}
	}
	heal()
	h.Insist(s.Client, h.Script("true"), "while0") // made or not: its key makes it one
	h.Insist(s.Client, h.Script("true"), "after")
	s.Kill()
	s.Flags = nil
	s = s.Again()
	for _, r := range h.Check(s.Client) {
		if r.Status != "succeeded" {
			t.Errorf("run %s is %s (%s)", r.ID, r.Status, r.Error)
		}
	}
	rows, total := s.Runs("limit=50")
	for _, r := range rows {
		if r = s.Await(r.ID); r.Status != "succeeded" || h.Starts(r.ID) != 1 {
			t.Errorf("run %s is %s (%s) and started %d times", r.ID, r.Status, r.Error, h.Starts(r.ID))
		}
	}
	t.Logf("%d runs were acknowledged, %d exist", len(h.Acked()), total)
}
