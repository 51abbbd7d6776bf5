package proc_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/ports/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modes are the two ways in which stragglers are found. The first falls back to the second where there are no groups.
func modes(t testing.TB) map[string]proc.Config {
	return map[string]proc.Config{
		"group":  {KillGrace: 2 * time.Second, Groups: groups(t)},
		"marker": {KillGrace: 2 * time.Second},
	}
}

func groups(t testing.TB) *cgroup.Groups {
	g := cgroup.Open("")
	t.Cleanup(g.Close)
	return g
}

func eachMode(t *testing.T, test func(t *testing.T, r *proc.Runner)) {
	t.Helper()
	for name, c := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRunner(t, c))
		})
	}
}

func newRunner(t testing.TB, c proc.Config) *proc.Runner {
	t.Helper()
	r, err := proc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// runID returns the id of a test's run. Another process may execute the same test at the same time.
func runID(t testing.TB) string { return t.Name() + "-" + strconv.Itoa(os.Getpid()) }

// mark is what the environment of a run has.
func mark(run string) string { return proc.RunIDVar + "=" + run }

// script is a bash command of a run with an id of the test's own.
func script(t testing.TB, text string) (proc.Command, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	return proc.Command{
		Path: "/bin/bash", Args: []string{"-c", text}, Dir: t.TempDir(), Stdout: out,
		Env: []string{"PATH=" + os.Getenv("PATH"), mark(runID(t))},
	}, out
}

// pidIn reads the pid that a script wrote to a file of its directory.
func pidIn(t testing.TB, path string) int {
	t.Helper()
	var pid int
	waittest.Eventually(t, 10*time.Second, "no pid in "+path, func() bool {
		b, _ := os.ReadFile(path)
		text, whole := strings.CutSuffix(string(b), "\n")
		n, err := strconv.Atoi(text)
		pid = n
		return whole && err == nil
	})
	return pid
}

// state returns the state letter of a process, empty once it is gone.
func state(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

func executes(pid int) bool { s := state(pid); return s != "" && s != "Z" && s != "X" }

// background starts a process outside of any runner, as a server that is dead by now did.
func background(t testing.TB, env []string, text string) *exec.Cmd {
	t.Helper()
	c := exec.Command("/bin/bash", "-c", text)
	c.Env = append(env, "PATH="+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}
