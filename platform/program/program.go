package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
)

// Bounds on a program's output, in bytes, and on the time to end after a request.
const (
	MaxStdout = 64 << 20
	MaxStderr = 64 << 10
	Grace     = 3 * time.Second
)

// ending is how long a boundary may take to end what is inside.
const ending = 6 * time.Second

// ErrTooMuch is in the chain of Run's error if a program wrote more than MaxStdout bytes.
var ErrTooMuch = errors.New("the output is too large")

// Command is one program with its whole input; nothing is inherited.
type Command struct {
	// Path is the program's file. A name without a slash is looked up in the PATH of this process, but in a box.
	Path string
	// Args are its arguments, without its name.
	Args []string
	// Dir is its working directory; empty means the directory of this process.
	Dir string
	// Env is its whole environment, in the form NAME=value; nil is an empty one. Of several values of a name the last
	// one counts.
	Env []string
	// Stdin is its input; nil is empty.
	Stdin []byte
	// Stdout receives the output, without a bound. If it is nil, Result contains at most MaxStdout bytes of the output.
	// An error of the writer closes the program's output, which ends a program that continues to write. The writer has
	// to store its error: Run returns it only if the program succeeded.
	Stdout io.Writer
	// Stderr receives the error output, without a bound, in addition to Result.
	Stderr io.Writer
	// MaxFile bounds each file that the program and its children write, in bytes; 0 sets no bound.
	MaxFile int64
	// Box is where the program runs; nil is beside this process. Show is what it sees besides what nobody hides,
	// without empty names; Dir is in there.
	Box  *Box
	Show []boundary.Path
}

// Result is the result of a program.
type Result struct {
	// Stdout is the output, if Command had no writer.
	Stdout []byte
	// Stderr is the end of the error output, at most MaxStderr bytes.
	Stderr []byte
	// Code is the exit code. If a signal ended the program, it is -1, in a box 128 and the number of the signal.
	Code int
}

// Run runs a program in a session of its own and returns when it and all processes in its process group have ended, in
// a box everything that it started. When ctx ends, Run sends SIGTERM to the group and kills it after Grace. Any exit
// code is a result; an error means that there is none: the program could not be started, or it wrote too much, with
// ErrTooMuch in the chain, or ctx ended, with its cause in the chain, or the kernel ended it, with a MemoryError in the
// chain. In the last three cases Run also returns the output so far. The error names the program and neither its
// arguments nor its environment.
func Run(ctx context.Context, c Command) (r Result, err error) {
	// The kernel ends the child when the thread that forked it ends. This thread lives as long as the child.
	cgroup.OnThread(func() { r, err = run(ctx, c) })
	return r, err
}

func run(ctx context.Context, c Command) (_ Result, err error) {
	var out headBuffer
	var errs tailBuffer
	in, err := c.Box.prepare(&c)
	if err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer func() {
		failed, over := in.close(), new(MemoryError)
		switch {
		case failed == nil || err != nil:
		case errors.As(failed, &over):
			err = fmt.Errorf("%s was ended: %w", c.Path, failed)
		default:
			err = fmt.Errorf("start %s: %w", c.Path, failed)
		}
	}()
	cmd := beside(ctx, &c)
	if in != nil {
		cmd = in.command(ctx)
	}
	cmd.Stderr, cmd.Stdout = &errs, c.Stdout
	if c.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&errs, c.Stderr)
	}
	if c.Stdout == nil {
		cmd.Stdout = &out
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	if err = in.start(cmd); err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	boundFiles(cmd.Process.Pid, c.MaxFile)
	awaitEnd(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid,
		syscall.SIGKILL) // what the leader left; the group is its own until it is waited for
	err = cmd.Wait()
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

// beside returns a program that is started as this process's own account.
func beside(ctx context.Context, c *Command) *exec.Cmd {
	//nolint:gosec // the program is the operator's, the arguments are made by the adapter
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Grace
	return cmd
}

// command returns the boundary as a program. It passes SIGTERM on; what it cannot contain it has to end itself.
func (in *inside) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, in.Path)
	cmd.Args, cmd.Env, cmd.Dir = in.Argv, in.Attr.Env, in.Attr.Dir
	cmd.ExtraFiles, cmd.SysProcAttr = in.Attr.Files[3:], in.Attr.Sys
	cmd.WaitDelay = Grace
	cmd.Cancel = func() error { return syscall.Kill(cmd.Process.Pid, syscall.SIGTERM) }
	if !in.contained() {
		cmd.WaitDelay += ending
		cmd.Cancel = func() error {
			p := cmd.Process
			in.late = time.AfterFunc(Grace, func() { _ = p.Signal(boundary.EndNow) })
			return syscall.Kill(p.Pid, syscall.SIGTERM)
		}
	}
	return cmd
}

// awaitEnd waits until a child has ended and leaves it a zombie, so that its number still names its group.
func awaitEnd(pid int) {
	const byPID, exited, noWait = 1, 4, 0x1000000
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, exited|noWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// boundFiles limits the size of the files that a process and its children write. It ignores a child that has ended.
func boundFiles(pid int, most int64) {
	if most <= 0 {
		return
	}
	limit := syscall.Rlimit{Cur: uint64(most), Max: uint64(most)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
