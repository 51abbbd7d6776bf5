package proc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/tools/proc"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	for text, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		c, _ := script(t, text)
		got, err := r.Run(t.Context(), c)
		if err != nil || got != want {
			t.Errorf("%s: exit code %d, error %v; want %d", text, got, err, want)
		}
	}
}

func TestAMissingExecutableIsAnErrorAndLeavesTheRunnerWhole(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{Groups: groups(t)})
	before := r.Contained()
	if _, err := r.Run(t.Context(), proc.Command{Path: "/nonexistent/tool", Dir: t.TempDir()}); !errors.Is(err,
		os.ErrNotExist) {
		t.Fatalf("got %v, want a not-exist error", err)
	}
	c, out := script(t, "echo fine")
	if code, err := r.Run(t.Context(), c); code != 0 || err != nil || out.String() != "fine\n" {
		t.Fatalf("afterwards: %d, %v, %q", code, err, out)
	}
	if r.Contained() != before {
		t.Error("a missing executable switched the control groups off")
	}
}

func TestEnvironmentDirectoryInputAndDescriptors(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	dir := t.TempDir()
	var out bytes.Buffer
	code, err := r.Run(t.Context(), proc.Command{
		Path: "/bin/bash", Args: []string{"-c", `tr '\0' '\n' </proc/$$/environ; pwd; cat; cd /proc/$$/fd; echo *`},
		Dir: dir, Env: []string{"A=1", "B=two words", "PATH=/usr/bin:/bin"}, Stdout: &out,
	})
	if code != 0 || err != nil {
		t.Fatalf("%d, %v", code, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if diff := cmp.Diff([]string{"A=1", "B=two words", "PATH=/usr/bin:/bin", dir}, lines[:4]); diff != "" {
		t.Error(diff)
	}
	if fds := lines[len(lines)-1]; fds != "0 1 2" && fds != "0 1 2 3" { // 3 is the directory that bash lists
		t.Errorf("the child holds the descriptors %s", fds)
	}
}

func TestOutputIsComplete(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	c, out := script(t, "head -c 3000000 /dev/zero; printf end")
	if code, err := r.Run(t.Context(), c); code != 0 || err != nil {
		t.Fatalf("%d, %v", code, err)
	}
	if out.Len() != 3_000_003 || !strings.HasSuffix(out.String(), "end") {
		t.Errorf("%d bytes", out.Len())
	}
}

func TestErrorsKeepTheirPlaceOrGoTheirOwnWay(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	c, out := script(t, "echo 1; echo 2 >&2; echo 3")
	if _, err := r.Run(t.Context(), c); err != nil || out.String() != "1\n2\n3\n" {
		t.Errorf("joined: %q, %v", out, err)
	}
	var errs bytes.Buffer
	c, out = script(t, "echo 1; echo 2 >&2; echo 3")
	c.Stderr = &errs
	if _, err := r.Run(t.Context(), c); err != nil || out.String() != "1\n3\n" || errs.String() != "2\n" {
		t.Errorf("apart: %q and %q, %v", out, &errs, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestAWriterThatFailsDoesNotHangTheChild(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	c, _ := script(t, "head -c 1000000 /dev/zero; exit 3")
	c.Stdout = fullDisk{}
	code, err := r.Run(t.Context(), c)
	if code != 3 || err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("%d, %v", code, err)
	}
}

func TestStragglersEndWithTheRun(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"background": "sleep 300 & echo $! >pid",
		"session":    "setsid bash -c 'echo $$ >pid; exec sleep 300' & until [ -s pid ]; do :; done",
		"forked off": "( setsid bash -c '(echo $BASHPID >pid; exec sleep 300) & exit' & ) ; until [ -s pid ]; do :; done",
		"stubborn":   `setsid bash -c 'trap "" TERM; echo $$ >pid; while :; do sleep 1; done' & until [ -s pid ]; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, r *proc.Runner) {
				c, _ := script(t, text+"; exit 4")
				code, err := r.Run(t.Context(), c)
				if code != 4 || err != nil {
					t.Fatalf("%d, %v", code, err)
				}
				if pid := pidIn(t, filepath.Join(c.Dir, "pid")); executes(pid) {
					t.Errorf("process %d outlived its run: %s", pid, state(pid))
				}
			})
		})
	}
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":      "echo $$ >pid; sleep 300",
		"forked off": "( setsid bash -c '(echo $BASHPID >pid; exec sleep 300) & exit' & ) ; sleep 300",
		"cleaned":    "env -i /bin/bash -c 'echo $$ >pid; exec /bin/sleep 300' & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, r *proc.Runner) {
				c, _ := script(t, text)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan int, 1)
				go func() {
					code, err := r.Run(ctx, c)
					if err != nil {
						t.Error(err)
					}
					done <- code
				}()
				pid := pidIn(t, filepath.Join(c.Dir, "pid"))
				cancel()
				if code := <-done; code != 143 {
					t.Errorf("exit code %d, want 143", code)
				}
				if executes(pid) {
					t.Errorf("process %d outlived the cancel", pid)
				}
			})
		})
	}
}

func TestTheGraceIsForTheWholeGroup(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *proc.Runner) {
		// The leader ends at once; its child takes a moment to clean up.
		c, _ := script(t, `bash -c 'trap "sleep 0.4; echo clean; exit" TERM; echo $$ >pid; sleep 300 & wait' & wait`)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := new(bytes.Buffer)
		c.Stdout = out
		done := make(chan error, 1)
		go func() { _, err := r.Run(ctx, c); done <- err }()
		pidIn(t, filepath.Join(c.Dir, "pid"))
		cancel()
		if err := <-done; err != nil || !strings.Contains(out.String(), "clean") {
			t.Errorf("%v; output %q", err, out)
		}
	})
}

func TestTheGraceEnds(t *testing.T) {
	t.Parallel()
	for name, c := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.KillGrace = 50 * time.Millisecond
			r := newRunner(t, c)
			cmd, _ := script(t, `trap "" TERM; echo $$ >pid; while :; do sleep 1; done`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan int, 1)
			go func() { code, _ := r.Run(ctx, cmd); done <- code }()
			pid := pidIn(t, filepath.Join(cmd.Dir, "pid"))
			cancel()
			if code := <-done; code != 137 || state(pid) != "" {
				t.Errorf("exit code %d, state %q", code, state(pid))
			}
		})
	}
}

func TestACancelledContextStartsNothing(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := script(t, "touch started")
	if _, err := r.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "started")); err == nil {
		t.Error("it was started")
	}
}

func TestAClosedRunnerRefuses(t *testing.T) {
	t.Parallel()
	r, err := proc.New(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	c, _ := script(t, "true")
	if _, err := r.Run(t.Context(), c); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestLookPathTakesOnlyAbsoluteEntries(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mytool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if _, err := proc.LookPath(t.Context(), map[string]string{"PATH": ":.:relative"}, "mytool"); err == nil {
		t.Error("a relative entry was searched")
	}
	got, err := proc.LookPath(t.Context(), map[string]string{"PATH": "/nonexistent:" + dir}, "other", "mytool")
	if err != nil || got != filepath.Join(dir, "mytool") {
		t.Errorf("%q, %v", got, err)
	}
	_, err = proc.LookPath(t.Context(), map[string]string{"PATH": "/nonexistent"}, "pwsh", "powershell")
	if err == nil || !strings.HasPrefix(err.Error(), "pwsh or powershell is not installed") {
		t.Errorf("got %v", err)
	}
}

// TestARunnerIsWholeAfterAKill runs one command after another in what the first leaves behind.
func TestARunnerIsWholeAfterAKill(t *testing.T) {
	t.Parallel()
	for name, c := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.KillGrace = 20 * time.Millisecond
			r := newRunner(t, c)
			for range 3 {
				cmd, _ := script(t,
					`trap "" TERM; setsid bash -c 'trap "" TERM; echo $$ >pid; sleep 300' & while :; do sleep 1; done`)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan int, 1)
				go func() { code, _ := r.Run(ctx, cmd); done <- code }()
				pidIn(t, filepath.Join(cmd.Dir, "pid"))
				cancel()
				if code := <-done; code != 137 {
					t.Errorf("killed: exit code %d", code)
				}
				cmd, out := script(t, "echo fine")
				if code, err := r.Run(t.Context(), cmd); code != 0 || err != nil || out.String() != "fine\n" {
					t.Errorf("after a kill: %d, %v, %q", code, err, out)
				}
			}
		})
	}
}

func TestNoRunLeavesACoreFile(t *testing.T) {
	t.Parallel()
	r := newRunner(t, proc.Config{})
	c, out := script(t,
		"for i in {1..500}; do [ $(ulimit -Hc) = 0 ] && break; read -t .01 <> <(:); done; ulimit -Sc; bash -c 'ulimit -Hc'")
	if code, err := r.Run(t.Context(), c); code != 0 || err != nil || out.String() != "0\n0\n" {
		t.Errorf("%d, %v, %q", code, err, out)
	}
}
