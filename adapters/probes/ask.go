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

// Limits of a program's output, and of the time to read the rest of it after the program was ended.
const (
	maxAnswer = 4 << 10
	askGrace  = 200 * time.Millisecond
)

// ask starts a program with one argument and returns the beginning of its output, also if it fails. The program gets no
// input, and PATH is its only environment variable. The program and its descendants are ended when its time or ctx is
// over; in the first case the error wraps DeadlineExceeded.
func ask(ctx context.Context, within time.Duration, file, arg, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// The kernel ends the child when the thread that forked it ends, so this thread must live as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out head
	cmd := exec.CommandContext(ctx, file, arg) //nolint:gosec // names and arguments are constants of this package
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"PATH=" + path}, "/", &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = askGrace
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", file, err)
	}
	awaitEnd(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid,
		syscall.SIGKILL) // end remaining descendants; the process group is reserved until the child is reaped
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return string(out.kept), fmt.Errorf("ask %s: %w", file, ctx.Err())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return string(out.kept), fmt.Errorf("ask %s: %w", file, err)
	}
	return string(out.kept), nil
}

// awaitEnd waits for the end of a child without reaping it, so that its pid still identifies its process group.
func awaitEnd(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// head keeps the beginning of the data written to it and drops the rest.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxAnswer-len(h.kept))]...)
	return len(p), nil
}
