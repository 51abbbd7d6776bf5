package probes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what a program may write, and of how long its output is read once it was ended.
const (
	maxAnswer = 4 << 10
	askGrace  = 200 * time.Millisecond
)

// ask starts a program with one argument and returns the beginning of what it writes. It gets the PATH and nothing
// else of this process's environment, and no input. It ends with everything that it started when its time or ctx is
// over: DeadlineExceeded is in the chain where the time is.
func ask(ctx context.Context, within time.Duration, file, arg, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// The kernel ends the child when the thread that forked it ends. This one lives as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out head
	cmd := exec.CommandContext(ctx, file, arg) //nolint:gosec // the names and the arguments stand in this package
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"PATH=" + path}, "/", &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = askGrace
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", file, err)
	}
	awaitEnd(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the program left; the group is its own until it is waited for
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("ask %s: %w", file, ctx.Err())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("ask %s: %w", file, err)
	}
	return string(out.kept), nil
}

// awaitEnd waits until a child has ended and leaves it to be waited for, so that its number still names its group.
func awaitEnd(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// head keeps the beginning of what is written to it and drops the rest.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxAnswer-len(h.kept))]...)
	return len(p), nil
}
