package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestMain is also the main function of the plugin.
func TestMain(m *testing.M) {
	if os.Getenv(wire.ModeVar) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns the environment in which the real OpenTofu is found.
func program(t *testing.T) map[string]string {
	t.Helper()
	script, err := filepath.Abs("../../../e2e/setup/tofu.sh")
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), script, "where").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return map[string]string{"PATH": strings.TrimSpace(string(out)) + ":/usr/bin:/bin"}
}

// process starts the plugin for each run, as Writ does: a cancel is SIGTERM for its process group.
func process(ctx context.Context, spec extension.ToolSpec, out io.Writer) (none extension.ToolResult, err error) {
	call, err := wire.EncodeCall("tofu", spec)
	if err != nil {
		return none, err
	}
	callOut, callIn, err := os.Pipe()
	if err != nil {
		return none, err
	}
	endOut, endIn, err := os.Pipe()
	if err != nil {
		return none, err
	}
	c := exec.CommandContext(ctx, "/proc/self/exe")
	c.Dir, c.Env, c.Stdout, c.Stderr = spec.Dir, []string{wire.ModeVar + "=" + wire.RunsTool}, out, out
	for name, value := range spec.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.ExtraFiles = []*os.File{callOut, endIn}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	err = errors.Join(c.Start(), callOut.Close(), endIn.Close())
	if err != nil {
		return none, err
	}
	_, err = callIn.Write(call)
	err = errors.Join(err, callIn.Close())
	report, failed := io.ReadAll(endOut)
	_ = c.Wait() // the report says how the tool ended
	if err = errors.Join(err, failed, endOut.Close()); err != nil {
		return none, err
	}
	r, failed, err := wire.DecodeEnd(report)
	return r, errors.Join(failed, err)
}

// stored returns a configuration with its state in a directory.
func stored(dir, text string) string {
	return fmt.Sprintf("terraform {\n  backend \"local\" {\n    path = %q\n  }\n}\n%s",
		filepath.Join(dir, "state"), text)
}

// TestTool runs the suites of tools, and of those with plans, through processes of the plugin.
func TestTool(t *testing.T) {
	t.Parallel()
	const broken = "resource {"
	extensiontest.Tool{Runner: extension.ToolRunnerFunc(process), Env: program(t), Scripts: extensiontest.Scripts{
		Broken: broken,
		Touch: `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "touch touched"
  }
}`,
	}}.Run(t)
	input := func(text string) func(string) string {
		return func(dir string) string {
			return stored(dir, fmt.Sprintf("resource \"terraform_data\" \"a\" {\n  input = %q\n}", text))
		}
	}
	extensiontest.Plans{Runner: extension.ToolRunnerFunc(process), Env: program(t), Broken: broken,
		First: input("one"), Second: input("two")}.Run(t)
}

// run executes one run of the tool that has to end with a code.
func run(t *testing.T, env map[string]string, spec extension.ToolSpec, code int) (*extension.Plan, string) {
	t.Helper()
	spec.Dir, spec.Env = t.TempDir(), maps.Clone(env)
	var out strings.Builder
	r, err := process(t.Context(), spec, &out)
	if err != nil || r.ExitCode != code {
		t.Fatalf("exit code %d, want %d: %v\n%s", r.ExitCode, code, err, &out)
	}
	return r.Plan, out.String()
}

// heard is an output that a test reads while it is written.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestCancel checks that a canceled apply saves what it has done and releases the lock of the state.
func TestCancel(t *testing.T) {
	t.Parallel()
	env, state := program(t), t.TempDir()
	configuration := func(command string) string {
		return stored(state, fmt.Sprintf(`
resource "terraform_data" "first" {}
resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = %q
  }
}`, command))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out heard
	done := make(chan extension.ToolResult, 1)
	go func() {
		r, err := process(ctx, extension.ToolSpec{Command: configuration("echo begun; exec sleep 300"), Dir: t.TempDir(),
			Env: env}, &out)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	waittest.Eventually(t, 2*time.Minute, "the second resource is created", func() bool {
		return strings.Contains(out.String(), "): begun")
	})
	cancel()
	if r := <-done; r.ExitCode == 0 || strings.Contains(out.String(), "Two interrupts") ||
		!strings.Contains(out.String(), "Interrupt received") {
		t.Errorf("exit code %d\n%s", r.ExitCode, &out)
	}
	plan, _ := run(t, env, extension.ToolSpec{Command: configuration("true"), DryRun: true}, 0)
	if len(plan.Findings) != 1 || plan.Findings[0].Resource != "terraform_data.second" {
		t.Errorf("what is left to do: %+v", plan)
	}
}
