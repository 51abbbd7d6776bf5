package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// Bounds of what a program may write, in bytes, and of how long it may take to end once it was asked to.
const (
	MaxStdout = 64 << 20
	MaxStderr = 64 << 10
	Grace     = 3 * time.Second
)

// ErrTooMuch is in the chain of the error of Run where a program wrote more than MaxStdout bytes.
var ErrTooMuch = errors.New("the output is too large")

// Command is one program with everything that it gets; nothing is inherited.
type Command struct {
	// Path is the file of the program. One without a slash is looked for in the PATH of this process.
	Path string
	// Args are its arguments, without its name.
	Args []string
	// Dir is where it runs; empty is the directory of this process.
	Dir string
	// Env is its whole environment, in the form NAME=value; nil is an empty one.
	Env []string
	// Stdin is what it reads; nil is nothing.
	Stdin []byte
	// Stdout gets what it writes, without a bound. Where it is nil the output is kept in Result, at most MaxStdout bytes
	// of it. An error of the writer closes the program's output, which ends a program that goes on writing. The writer
	// has to remember it: Run returns it only where the program ended well.
	Stdout io.Writer
	// MaxFile bounds each file that the program and its children write, in bytes; 0 does not.
	MaxFile int64
}

// Result is what a program left.
type Result struct {
	// Stdout is what the program wrote, where Command gave no writer.
	Stdout []byte
	// Stderr is the end of what it wrote there, at most MaxStderr bytes.
	Stderr []byte
	// Code is its exit code, -1 where a signal ended it.
	Code int
}

// Run runs a program in a session of its own and returns when it and all that stayed in its process group are gone. A
// context that ends asks the group to end and makes it after Grace. Any exit code is a result; an error says that
// there is none: the program could not be started, or it wrote too much, with ErrTooMuch in the chain, or the context
// ended, with its cause in the chain. What was written until then is returned with the last two. The error names the
// program and neither its arguments nor its environment.
func Run(ctx context.Context, c Command) (Result, error) {
	// The kernel ends the child when the thread that forked it ends. This one lives as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out headBuffer
	var errs tailBuffer
	cmd := exec.CommandContext(ctx, c.Path, c.Args...) //nolint:gosec // the program is the operator's, the arguments are made by the adapter
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout = c.Dir, c.Env, &errs, c.Stdout
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if c.Stdout == nil {
		cmd.Stdout = &out
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Grace
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	boundFiles(cmd.Process.Pid, c.MaxFile)
	awaitEnd(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the leader left; the group is its own until it is waited for
	err := cmd.Wait()
	r := Result{Stdout: out.kept, Stderr: errs.bytes(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("%s was ended: %w", c.Path, context.Cause(ctx))
	case out.over || errors.Is(err, ErrTooMuch):
		return r, fmt.Errorf("%s: %w", c.Path, ErrTooMuch)
	case err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, syscall.EPIPE):
		return r, nil
	default:
		return r, fmt.Errorf("run %s: %w", c.Path, err)
	}
}

// awaitEnd waits until a child has ended and leaves it to be waited for, so that its number still names its group.
func awaitEnd(pid int) {
	const byPID, exited, noWait = 1, 4, 0x1000000
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, exited|noWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// boundFiles limits the size of the files that a process and its children write. A child that is gone needs no bound.
func boundFiles(pid int, most int64) {
	if most <= 0 {
		return
	}
	limit := syscall.Rlimit{Cur: uint64(most), Max: uint64(most)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
