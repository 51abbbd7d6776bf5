package child

import (
	"os"
	"runtime"
	"syscall"
)

// Name is the first argument of a process that is a boundary, and Marker its only environment variable. In a container
// the first argument is the descriptor of this program, and Marker one variable of several.
const (
	Name       = "writ-run"
	SelfFD     = "/proc/self/fd/"
	Marker     = markerName + "=1"
	markerName = "WRIT_BOUNDARY"
)

// The descriptors of a boundary. The tool's further files begin at FirstFile; in the tool they begin at 3.
const (
	planFD    = 3
	statusFD  = 4
	FirstFile = 5
)

// Exit codes of a boundary that could not be built, whose reason is on its status pipe, and of a shim that was started
// without a plan.
const (
	failedCode = 125
	Unasked    = 126
)

// init takes over if this process is a boundary.
func init() {
	if len(os.Args) != 1 || os.Args[0] != Name && !hasPrefix(os.Args[0], SelfFD) || os.Getenv(markerName) != "1" {
		return
	}
	runtime.LockOSThread()
	syscall.Exit(run()) // without what a whole program does at its end
}

// failure is a step that failed.
type failure struct {
	step string
	err  error
}

// run builds the boundary, runs the tool in it and returns the tool's exit code.
func run() int {
	p, err := readPlan()
	if err != nil {
		return report(failure{"read the plan", err})
	}
	b := &boundary{plan: p, signals: watchSignals()}
	if f := b.build(); f.err != nil {
		return report(f)
	}
	if f := b.start(); f.err != nil {
		return report(f)
	}
	if p.Output > 0 {
		report(failure{"", syscall.Errno(0)}) // that a container has begun is not known otherwise
	}
	if p.trial() {
		return 0
	}
	return b.wait()
}

// report writes a failure to the status pipe.
func report(f failure) int {
	code := syscall.EINVAL
	if errno, ok := f.err.(syscall.Errno); ok {
		code = errno
	}
	text := append([]byte(f.step), 0)
	_, _ = syscall.Write(statusFD, append(text, itoa(int(code))...))
	return failedCode
}

// boundary is this process.
type boundary struct {
	plan    Plan
	signals <-chan os.Signal
	tool    int
	thread  *thread
}

// build separates this process from the rest of the machine. What concerns the tool alone is done by its thread.
func (b *boundary) build() failure {
	// Nothing but the tool's own files reaches it, each once; the last one is this program. A kernel without the call
	// got no others in the first place.
	for fd := planFD; fd <= FirstFile+b.plan.Files; fd++ {
		syscall.CloseOnExec(fd)
	}
	_, _, _ = syscall.RawSyscall(sysCloseRange, uintptr(FirstFile+b.plan.Files), ^uintptr(0)>>32, closeRangeCloexec)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	if err := b.plan.enterContainer(); err != nil {
		return failure{"take over the descriptors", err}
	}
	if n := b.plan.Processes; n > 0 {
		limit := syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}
		if err := syscall.Setrlimit(rlimitNproc, &limit); err != nil {
			return failure{"limit the processes", err}
		}
	}
	if !b.plan.PIDNamespace {
		if err := prctl(prSetChildSubreaper, 1); err != nil {
			return failure{"adopt orphans", err}
		}
	}
	if f := mountAll(b.plan.Mounts); f.err != nil {
		return f
	}
	if b.plan.Loopback {
		if err := startLoopback(); err != nil {
			return failure{"start the loopback interface", err}
		}
	}
	// The plan has secrets, and a tool of the same account could read the memory of this process.
	if err := prctl(prSetDumpable, 0); err != nil {
		return failure{"close the memory", err}
	}
	return failure{}
}
