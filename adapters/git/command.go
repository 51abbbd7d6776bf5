package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Bounds of what a program may write and of how long it may take to end.
const (
	maxOutput = 64 << 20
	maxErrors = 64 << 10
	grace     = 3 * time.Second
)

// errTooMuch is in the chain where a program wrote more than is taken.
var errTooMuch = errors.New("the output is too large")

// command is one program with everything that it gets; nothing is inherited.
type command struct {
	path   string
	args   []string
	dir    string
	env    []string
	stdin  []byte
	stdout io.Writer // nil: kept, at most maxOutput bytes of it
	// maxFile bounds each file that the program writes, in bytes; 0 does not.
	maxFile int64
}

// result is what a program left.
type result struct {
	stdout []byte
	stderr []byte // its end
	code   int
}

// run runs a program in a session of its own and returns when it and all that stayed in its process group are gone. A context that
// ends asks the group to end and makes it after the grace. Any exit code is a result; an error says that there is none.
func run(ctx context.Context, c command) (result, error) {
	// The kernel ends the child when the thread that forked it ends. This one lives as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out headBuffer
	var errs tailBuffer
	cmd := exec.CommandContext(ctx, c.path, c.args...) //nolint:gosec // the program is the operator's, the arguments are made here
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout = c.dir, c.env, &errs, c.stdout
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if c.stdout == nil {
		cmd.Stdout = &out
	}
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return result{}, fmt.Errorf("start %s: %w", c.path, err)
	}
	boundFiles(cmd.Process.Pid, c.maxFile)
	awaitEnd(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the leader left; the group is its own until it is waited for
	err := cmd.Wait()
	r := result{stdout: out.kept, stderr: errs.bytes(), code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("%s was ended: %w", c.path, context.Cause(ctx))
	case out.over || errors.Is(err, errTooMuch):
		return r, fmt.Errorf("%s: %w", c.path, errTooMuch)
	case err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, syscall.EPIPE):
		return r, nil
	default:
		return r, fmt.Errorf("run %s: %w", c.path, err)
	}
}

// endLeftovers ends the commands of a process that was killed. The kernel ended those that it had started itself, and not what these had
// started. All have their home below the directory, which belongs to one process at a time.
func endLeftovers(private string) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // which stays this process, whoever gets its number
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+private+"/")) {
			_ = p.Kill() // it may be gone already
		}
		_ = p.Release()
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

// headBuffer keeps the beginning and refuses what is too much, which ends the program that writes it.
type headBuffer struct {
	kept []byte
	over bool
}

// Write implements io.Writer.
func (b *headBuffer) Write(p []byte) (int, error) {
	if len(b.kept)+len(p) > maxOutput {
		b.over = true
		return 0, errTooMuch
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// tailBuffer keeps the end.
type tailBuffer struct{ kept []byte }

// Write implements io.Writer.
func (b *tailBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p...)
	if len(b.kept) > 2*maxErrors {
		b.kept = append(b.kept[:0], b.kept[len(b.kept)-maxErrors:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) bytes() []byte { return b.kept[max(0, len(b.kept)-maxErrors):] }
