package proc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/adapters/tools/proc"

	"github.com/writ-automation/writ/ports/waittest"
)

func TestReapEndsARunOfADeadServer(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{KillGrace: 200 * time.Millisecond})
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	background(t, []string{mark(runID(t))}, fmt.Sprintf(
		`trap "" TERM; echo $$ >%s; setsid bash -c 'echo $$ >%s; exec sleep 300' & env -i /bin/bash -c 'echo $$ >%s; exec /bin/sleep 300' & while :; do sleep 1; done`,
		file("a"), file("b"), file("c")))
	other := background(t, []string{mark(runID(t) + "0")}, "exec sleep 300")
	var pids []int
	for _, n := range []string{"a", "b", "c"} {
		pids = append(pids, pidIn(t, file(n)))
	}
	n, err := r.Reap(t.Context(), runID(t))
	if err != nil || n < 3 {
		t.Fatalf("%d processes, %v", n, err)
	}
	for _, pid := range pids {
		if executes(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if !executes(other.Process.Pid) {
		t.Error("a run whose id begins with the same text was ended")
	}
	if n, err := r.Reap(t.Context(), runID(t)); n != 0 || err != nil {
		t.Errorf("a second time: %d, %v", n, err)
	}
	if _, err := r.Reap(t.Context(), ""); err == nil {
		t.Error("an empty id was accepted")
	}
}

func TestReapHeedsItsContext(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{KillGrace: time.Hour})
	ready := filepath.Join(t.TempDir(), "pid")
	background(t, []string{mark(runID(t))}, `trap "" TERM; echo $$ >`+ready+`; while :; do sleep 1; done`)
	pidIn(t, ready)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if n, err := r.Reap(ctx, runID(t)); n == 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}

// The two tests below run this test binary as a server of its own.
const roleVar = "PROC_TEST_ROLE"

func serverRole(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestServerRole$", "-test.v")
	c.Env = append(os.Environ(), roleVar+"="+role, "PROC_TEST_DIR="+dir)
	return c
}

func TestServerRole(t *testing.T) {
	role := os.Getenv(roleVar)
	if role == "" {
		return // not started by one of the tests below
	}
	r := newRunner(t, proc.Config{})
	c, _ := script(t, "echo $$ >pid; sleep 300")
	c.Dir = os.Getenv("PROC_TEST_DIR")
	if role == "killed" {
		_, _ = r.Run(t.Context(), c)
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	r = newRunner(t, proc.Config{})
	c.Args = []string{"-c", "for i in 1 2 3; do ( setsid bash -c '(sleep 0.1) & exit' & ) ; done; sleep 0.5"}
	if code, err := r.Run(t.Context(), c); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	waittest.Eventually(t, 10*time.Second, "zombies are left", func() bool {
		out, _ := exec.Command("ps", "-o", "stat=", "--ppid", fmt.Sprint(os.Getpid())).Output()
		return !strings.Contains(string(out), "Z")
	})
	fmt.Println("no zombies")
}

func TestAKilledServerTakesItsRunsAlong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := serverRole(t, "killed", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, filepath.Join(dir, "pid"))
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	waittest.Eventually(t, 10*time.Second, "the run's leader outlived the server", func() bool { return !executes(pid) })
}

func TestAServerThatAdoptsOrphansCollectsThem(t *testing.T) {
	t.Parallel()
	out, err := serverRole(t, "adopts", t.TempDir()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no zombies") {
		t.Errorf("%v\n%s", err, out)
	}
}
