package goplugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/waittest"
)

// TestLeftovers checks that a start ends the processes and removes the files that a killed server left, with plugins or
// without.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", place(t, "good")} {
		c, _ := fixture(t, dir)
		home := filepath.Join(c.State, "plugin-dir1")
		for _, d := range []string{home, filepath.Join(home, "closed"), filepath.Join(c.State, "box-2")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		touched(t, filepath.Join(home, "closed", "file"), "x")
		if err := os.Chmod(filepath.Join(home, "closed"), 0o100); err != nil { //nolint:gosec // as a plugin may do
			t.Fatal(err)
		}
		left := exec.Command("sleep", "1000")
		left.Env, left.SysProcAttr = []string{"HOME=" + home}, &syscall.SysProcAttr{Setsid: true}
		if err := left.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- left.Wait() }()
		h, err := open(t.Context(), c, quick())
		if err != nil {
			t.Fatal(err)
		}
		waittest.Eventually(t, time.Minute, "the process ends", func() bool { return len(ended) == 1 })
		h.Close()
		if list, err := os.ReadDir(c.State); err != nil || len(list) > 0 {
			t.Errorf("with the directory %q: %v, %v", dir, list, err)
		}
	}
}

// TestCloseEndsChildren checks that what a plugin started as a session of its own ends with the host.
func TestCloseEndsChildren(t *testing.T) {
	t.Parallel()
	c, _ := fixture(t, place(t, "forks"))
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	pids := words(t, filepath.Join(c.Dir, ".forked"))
	if len(pids) != 1 || !exists("/proc/"+pids[0]) {
		t.Fatalf("the child is %v", pids)
	}
	h.Close()
	waittest.Eventually(t, time.Minute, "the child ends", func() bool { return !exists("/proc/" + pids[0]) })
}
