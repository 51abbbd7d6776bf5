package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
	"github.com/writ-automation/writ/ports/extension/plugin"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestMain is also the main function of the plugin of these tests.
func TestMain(m *testing.M) {
	if os.Getenv(wire.ModeVar) != "" {
		plugin.Serve(plugin.Extension{Tools: map[string]extension.ToolRunner{
			"shell": extension.ToolRunnerFunc(shell), "odd": extension.ToolRunnerFunc(odd),
			"keep": extension.ToolRunnerFunc(keep), "hostile": extension.ToolRunnerFunc(hostile),
		}})
	}
	goleak.VerifyTestMain(m)
}

// shell runs a script as a tool of a third party would.
func shell(ctx context.Context, spec extension.ToolSpec, out io.Writer) (none extension.ToolResult, err error) {
	bash := filepath.Join(strings.Split(spec.Env["PATH"], ":")[0], "bash")
	args := []string{"-c", spec.Command}
	if spec.DryRun {
		args = append([]string{"-n"}, args...)
	}
	c := exec.CommandContext(ctx, bash, args...)
	c.Dir, c.Stdout, c.Stderr = spec.Dir, out, out
	for name, value := range spec.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	err = c.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return extension.ToolResult{ExitCode: exit.ExitCode()}, nil
	}
	return none, err
}

// odd does what its input says.
func odd(ctx context.Context, spec extension.ToolSpec, out io.Writer) (none extension.ToolResult, err error) {
	end := os.NewFile(wire.EndFD, "end")
	switch spec.Command {
	case "die":
		err = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(0)
	case "lie":
		_, err = end.Write([]byte("\xff\xff"))
		os.Exit(0)
	case "extra":
		_, err = end.Write([]byte{0xa0, 0x06, 1}) // a member with the number 100
		os.Exit(0)
	case "late":
		report, _ := wire.EncodeEnd(none, nil)
		_, err = end.Write(report)
		os.Exit(3)
	case "flood":
		line := bytes.Repeat([]byte("x"), 1<<16)
		for range 2 * wire.MaxEnd / len(line) {
			if _, err = end.Write(line); err != nil {
				break
			}
		}
		os.Exit(0)
	case "real plan":
		none.Plan = many(1, extension.PlanFinding{Resource: "r", Action: "a"})
		report, _ := wire.EncodeEnd(none, nil)
		_, err = end.Write(report)
		os.Exit(0)
	case "crowd": // a plan of 1<<22 bytes, with findings of two bytes, which take much memory when they are read
		_, err = end.Write(append([]byte{4<<3 | 2, 0x80, 0x80, 0x80, 2}, bytes.Repeat([]byte{3<<3 | 2, 0}, 1<<21)...))
		os.Exit(0)
	case "deaf", "live":
		if _, err = fmt.Fprintln(out, "begun", len(os.Environ()), spec.ExtraVars["big"]); err != nil {
			return none, err
		}
		if spec.Command == "deaf" {
			forever()
		}
		<-ctx.Done()
	default:
		err = errors.New("it does not start:\nno " + strings.Repeat("x", 5000))
	}
	return none, err
}

// forever waits for a signal that nobody sends.
func forever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	<-c
}

func fixture(t *testing.T, name string, c proc.Config) *Tool {
	t.Helper()
	r, err := proc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return New(r, name, "test", self)
}

// TestTool runs the suite of tools through processes of a plugin.
func TestTool(t *testing.T) {
	t.Parallel()
	extensiontest.Tool{
		Runner: fixture(t, "shell", proc.Config{}),
		Env:    map[string]string{"PATH": "/usr/bin:/bin"},
		Scripts: extensiontest.Scripts{
			Exit7: "exit 7", Text: `printf 'first\nlast'`, Dir: "pwd", Touch: "touch touched", Broken: "if",
			Burst:    `head -c 1048576 /dev/zero | tr '\0' x; printf end`,
			Environ:  "cat /proc/$$/environ; exit",
			Tree:     "setsid sleep 300 & echo $! >pid; sleep 300",
			Leftover: "setsid sleep 300 & echo $! >pid",
		},
	}.Run(t)
}

// TestOdd checks that a tool which dies, lies or floods fails its run with a cause.
// Keeps T09, F07.
func TestOdd(t *testing.T) {
	t.Parallel()
	tool := fixture(t, "odd", proc.Config{})
	for command, want := range map[string]string{
		"die": "ended before the tool did, with exit code 137", "panic": "ended before the tool did, with exit code 2",
		"exit": "ended before the tool did, with exit code 0", "lie": "unreadable", "late": "exit code 3 after the tool",
		"extra": "unknown members",
		"flood": "its report is larger than 5 MiB", "crowd": "its plan has 2097152 findings, and the limit is 5000",
		"": "it does not start: no x",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r, err := tool.Run(t.Context(), extension.ToolSpec{Command: command, Dir: t.TempDir()}, &out)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "the plugin test: ") ||
				r.ExitCode != 0 || len(err.Error()) > 1100 {
				t.Errorf("%v, %v", r, err)
			}
			if command == "panic" && !strings.Contains(out.String(), "at the disco") {
				t.Errorf("the trace is not in the output: %s", &out)
			}
		})
	}
	none := New(tool.runner, "odd", "test", filepath.Join(t.TempDir(), "none"))
	if _, err := none.Run(t.Context(), extension.ToolSpec{Dir: t.TempDir()}, io.Discard); err == nil {
		t.Error("a missing executable is no error")
	}
	spec := extension.ToolSpec{Command: "real plan", Dir: t.TempDir()}
	if r, err := tool.Run(t.Context(), spec, io.Discard); err != nil || r.Plan != nil {
		t.Errorf("the plan of a real run: %+v, %v", r.Plan, err)
	}
}

// heard is an output that tests read while it is written.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
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

// TestCancel checks that output is live, that a canceled tool can end by itself, and that one which does not is killed.
func TestCancel(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"live": 143, "deaf": 137} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			grace := time.Minute
			if command == "deaf" {
				grace = 300 * time.Millisecond
			}
			tool := fixture(t, "odd", proc.Config{KillGrace: grace})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out heard
			done := make(chan int, 1)
			go func() {
				r, err := tool.Run(ctx, extension.ToolSpec{Command: command, Dir: t.TempDir(),
					Env: map[string]string{"ONE": "1"}, ExtraVars: map[string]any{"big": 9007199254740993}}, &out)
				if err != nil {
					t.Error(err)
				}
				done <- r.ExitCode
			}()
			waittest.Eventually(t, time.Minute, "the output is live", func() bool {
				return out.String() == "begun 1 9007199254740993\n"
			})
			cancel()
			if code := <-done; code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
		})
	}
}

// TestInside runs a tool in the box of a run, which sees neither other processes nor what is hidden.
func TestInside(t *testing.T) {
	t.Parallel()
	hidden := t.TempDir()
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Hide: []string{hidden}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	tool := fixture(t, "shell", proc.Config{Boundary: b})
	run, err := tool.runner.Enter("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Close() }()
	parent, err := os.MkdirTemp("", "writ-inside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	files := filepath.Join(parent, "files")
	work := filepath.Join(files, "work")
	err = errors.Join(os.Chmod(parent, 0o711), os.Mkdir(files, 0o711), os.Mkdir(work, 0o700), //nolint:gosec // passed
		os.Mkdir(filepath.Join(files, "tmp"), 0o700))
	if uid, gid, own := run.Owner(); own && err == nil {
		err = errors.Join(os.Chown(work, uid, gid), os.Chown(filepath.Join(files, "tmp"), uid, gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, err := tool.Run(run.Inside(t.Context(), files), extension.ToolSpec{
		Command: `id -u; echo "$SECRET"; ls -A ` + hidden + ` | wc -l; test -e /proc/` + fmt.Sprint(os.Getpid()) + `/exe && echo seen`,
		Dir:     work, Env: map[string]string{"PATH": "/usr/bin:/bin", "SECRET": "of the run"},
	}, &out)
	if err != nil || !strings.Contains(out.String(), "of the run") || strings.Contains(out.String(), "seen") ||
		b.Status().Level == boundary.Namespaces && os.Getuid() == 0 && strings.HasPrefix(out.String(), "0\n") {
		t.Errorf("at the level %s: %v, %v\n%s", b.Status().Level, r, err, &out)
	}
}
