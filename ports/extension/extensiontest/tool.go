package extensiontest

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// Scripts are inputs of the tool under test, in its own language. An empty one leaves out the tests that need it.
type Scripts struct {
	Exit7    string // exits with code 7
	Text     string // prints "first\nlast", without a line break at the end
	Burst    string // prints 1 MiB of the letter x, then "end"
	Environ  string // prints its whole environment as NAME=value, each ended by a NUL
	Dir      string // prints its working directory
	Touch    string // makes the file "touched" in its working directory
	Tree     string // starts `sleep 300` in a session of its own, writes its pid and a line break to "pid", then sleeps
	Leftover string // does the same, then exits with code 0 instead of sleeping
	Broken   string // is an invalid program
}

// Tool is the suite's input.
type Tool struct {
	Runner extension.ToolRunner
	// Env is the environment in which the tool finds its interpreter.
	Env     map[string]string
	Scripts Scripts
}

// Run tests the tool against the contract of extension.ToolRunner.
func (s Tool) Run(t *testing.T) {
	c := s.Scripts
	for name, row := range map[string]struct {
		script string
		test   func(*testing.T)
	}{
		"exit code": {c.Exit7, s.exitCode}, "output is complete": {c.Text, s.output},
		"a burst is complete": {c.Burst, s.burst}, "environment is exact": {c.Environ, s.environment},
		"runs in its directory": {c.Dir, s.directory}, "dry run changes nothing": {c.Touch, s.dryRun},
		"dry run finds a broken program":   {c.Broken, s.dryRunBroken},
		"a broken program is an exit code": {c.Broken, s.broken}, "cancel ends the tree": {c.Tree, s.cancel},
		"nothing outlives the run": {c.Leftover, s.leftover}, "a missing interpreter is an error": {c.Touch, s.missing},
		"the directory alone is written to": {c.Touch, s.containment},
	} {
		if row.script == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.test(t)
		})
	}
}

func (s Tool) spec(t *testing.T, command string) extension.ToolSpec {
	t.Helper()
	env := maps.Clone(s.Env)
	env["WRIT_RUN_ID"] = "suite-" + strconv.Itoa(os.Getpid()) + "-" + t.Name()
	return extension.ToolSpec{Command: command, Env: env, Dir: t.TempDir()}
}

func (s Tool) run(t *testing.T, spec extension.ToolSpec) (int, string) {
	t.Helper()
	var out bytes.Buffer
	res, err := s.Runner.Run(t.Context(), spec, &out)
	if err != nil {
		t.Fatalf("the tool could not be run: %v\n%s", err, &out)
	}
	return res.ExitCode, out.String()
}

func (s Tool) exitCode(t *testing.T) {
	if code, out := s.run(t, s.spec(t, s.Scripts.Exit7)); code != 7 {
		t.Errorf("exit code %d, want 7\n%s", code, out)
	}
}

func (s Tool) output(t *testing.T) {
	if code, out := s.run(t, s.spec(t, s.Scripts.Text)); code != 0 || out != "first\nlast" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func (s Tool) burst(t *testing.T) {
	code, out := s.run(t, s.spec(t, s.Scripts.Burst))
	if code != 0 || len(out) != 1<<20+3 || !strings.HasSuffix(out, "xend") {
		t.Errorf("exit code %d, %d bytes", code, len(out))
	}
}

func (s Tool) environment(t *testing.T) {
	spec := s.spec(t, s.Scripts.Environ)
	spec.Env["SUITE_VALUE"] = "two words = 'quoted' $HOME"
	code, out := s.run(t, spec)
	var want []string
	for k, v := range spec.Env {
		want = append(want, k+"="+v)
	}
	got := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	slices.Sort(want)
	slices.Sort(got)
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit code %d\n got %q\nwant %q", code, got, want)
	}
}

func (s Tool) directory(t *testing.T) {
	spec := s.spec(t, s.Scripts.Dir)
	if code, out := s.run(t, spec); code != 0 || strings.TrimSpace(out) != spec.Dir {
		t.Errorf("exit code %d, ran in %q, want %q", code, out, spec.Dir)
	}
}

func (s Tool) dryRun(t *testing.T) {
	spec := s.spec(t, s.Scripts.Touch)
	spec.DryRun = true
	if code, out := s.run(t, spec); code != 0 {
		t.Errorf("dry run: exit code %d\n%s", code, out)
	}
	touched := filepath.Join(spec.Dir, "touched")
	if _, err := os.Stat(touched); err == nil {
		t.Error("a dry run had an effect")
	}
	spec.DryRun = false
	s.run(t, spec)
	if _, err := os.Stat(touched); err != nil {
		t.Errorf("the script has no effect at all: %v", err)
	}
}

func (s Tool) dryRunBroken(t *testing.T) {
	spec := s.spec(t, s.Scripts.Broken)
	spec.DryRun = true
	if code, out := s.run(t, spec); code == 0 || out == "" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func (s Tool) broken(t *testing.T) {
	if code, out := s.run(t, s.spec(t, s.Scripts.Broken)); code == 0 || out == "" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func (s Tool) cancel(t *testing.T) {
	spec := s.spec(t, s.Scripts.Tree)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type end struct {
		res extension.ToolResult
		err error
	}
	done := make(chan end, 1)
	go func() {
		res, err := s.Runner.Run(ctx, spec, new(bytes.Buffer))
		done <- end{res, err}
	}()
	pid := awaitPID(t, filepath.Join(spec.Dir, "pid"))
	cancel()
	if e := <-done; e.err != nil || e.res.ExitCode == 0 {
		t.Errorf("exit code %d, error %v", e.res.ExitCode, e.err)
	}
	if executes(pid) {
		t.Errorf("process %s outlived the cancel", pid)
	}
}

func (s Tool) leftover(t *testing.T) {
	spec := s.spec(t, s.Scripts.Leftover)
	if code, out := s.run(t, spec); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if pid := awaitPID(t, filepath.Join(spec.Dir, "pid")); executes(pid) {
		t.Errorf("process %s outlived the run", pid)
	}
}

func (s Tool) missing(t *testing.T) {
	spec := s.spec(t, s.Scripts.Touch)
	spec.Env["PATH"] = t.TempDir()
	if res, err := s.Runner.Run(t.Context(), spec, new(bytes.Buffer)); err == nil {
		t.Errorf("no error without an interpreter, exit code %d", res.ExitCode)
	}
}

// containment gives the tool a home of its own and requires that it stays empty.
func (s Tool) containment(t *testing.T) {
	spec := s.spec(t, s.Scripts.Touch)
	home := t.TempDir()
	spec.Env["HOME"] = home
	for _, dry := range []bool{true, false} {
		spec.DryRun = dry
		if code, out := s.run(t, spec); code != 0 {
			t.Fatalf("dry run %t: exit code %d\n%s", dry, code, out)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left in the home folder: %v, %v", left, err)
	}
}

func awaitPID(t *testing.T, path string) string {
	t.Helper()
	deadline, tick := time.NewTimer(time.Minute), time.NewTicker(5*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for {
		b, _ := os.ReadFile(path)
		if pid, whole := strings.CutSuffix(string(b), "\n"); whole && pid != "" {
			return pid
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("the script wrote no pid to %s", path)
		}
	}
}

func executes(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}
