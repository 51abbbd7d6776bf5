package child

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	// termGrace is the time for what the tool left to react to SIGTERM, killWait that to react to SIGKILL.
	termGrace = 250 * time.Millisecond
	killWait  = 5 * time.Second
	shortest  = 500 * time.Microsecond
	longest   = 10 * time.Millisecond
)

// state is what the signals asked for.
type state struct {
	asked, now, over atomic.Bool
	parent           int
}

// wait passes signals on, waits for the tool and ends the rest. It returns the tool's exit code, or 128+n if signal n
// ended it.
func (b *boundary) wait() int {
	s := &state{parent: os.Getppid()}
	go b.passSignals(s)
	code := b.reapUntilTool(s)
	if s.asked.Load() && !s.now.Load() {
		b.awaitGroup(s)
	}
	b.endRest(s)
	return code
}

// passSignals forwards the request to end to the tool's group. If the server has died, or at EndNow, all ends at once.
func (b *boundary) passSignals(s *state) {
	for sig := range b.signals {
		sig := sig.(syscall.Signal)
		if os.Getppid() != s.parent || sig == EndNow {
			s.now.Store(true)
			sig = syscall.SIGKILL
		}
		s.asked.Store(true)
		if !s.over.Load() || sig == syscall.SIGKILL {
			_ = syscall.Kill(-b.tool, sig)
		}
	}
}

// reapUntilTool collects every child that ends until the tool has. It looks before it collects, so that the number of
// the tool's group is not free while it may be signalled.
func (b *boundary) reapUntilTool(s *state) int {
	for {
		pid, err := anyEnded()
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 128 + int(syscall.SIGKILL)
		}
		if pid == b.tool {
			s.over.Store(true)
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, syscall.WNOHANG, nil); err != nil || pid != b.tool {
			continue
		}
		if ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return ws.ExitStatus()
	}
}

// anyEnded blocks until a child has ended, and leaves it.
func anyEnded() (int, error) {
	var info [128]byte
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitAny, 0, uintptr(unsafe.Pointer(&info)), waitExited|waitNoWait,
		0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(*(*int32)(unsafe.Pointer(&info[16]))), nil
}

// reap collects what has ended and reports whether no child is left. Every process inside descends from a living child.
func reap() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return true
		}
		if err == nil && pid == 0 {
			return false
		}
	}
}

// awaitGroup gives the rest of a cancelled tool's group the time that the server grants it.
func (b *boundary) awaitGroup(s *state) {
	for pause := shortest; !s.now.Load() && syscall.Kill(-b.tool, 0) == nil; pause = min(2*pause, longest) {
		if reap() {
			return
		}
		rest(pause)
	}
}

// endRest ends every process that is left: by SIGTERM, on which a connection master closes its connections, and then
// by SIGKILL.
func (b *boundary) endRest(s *state) {
	if reap() {
		return
	}
	if !s.now.Load() {
		b.signalAll(syscall.SIGTERM)
		for waited, pause := time.Duration(0), shortest; waited < termGrace && !s.now.Load(); waited += pause {
			if reap() {
				return
			}
			rest(pause)
			pause = min(2*pause, longest)
		}
	}
	for waited, pause := time.Duration(0), shortest; waited < killWait; waited += pause {
		b.signalAll(syscall.SIGKILL)
		if reap() || b.plan.PIDNamespace { // the kernel ends the namespace with this process
			return
		}
		rest(pause)
		pause = min(2*pause, longest)
	}
}

func rest(d time.Duration) { <-time.After(d) }

// signalAll signals everything inside but this process.
func (b *boundary) signalAll(sig syscall.Signal) {
	if b.protected() {
		b.thread.kills <- sig
		if <-b.thread.killed {
			return
		}
	}
	for _, pid := range descendants(os.Getpid(), 0) {
		_ = syscall.Kill(pid, sig)
	}
}

// maxDepth bounds how deep descendants are followed; what is deeper becomes a child of this process in the next pass.
const maxDepth = 8

// descendants lists the children of a process and theirs.
func descendants(pid, depth int) []int {
	tasks, err := os.ReadDir("/proc/" + itoa(pid) + "/task")
	if err != nil || depth > maxDepth {
		return nil
	}
	var out []int
	for _, t := range tasks {
		b, err := os.ReadFile("/proc/" + itoa(pid) + "/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		start := 0
		for i, c := range b {
			if c != ' ' {
				continue
			}
			if n, ok := atoi(string(b[start:i])); ok {
				out = append(append(out, n), descendants(n, depth+1)...)
			}
			start = i + 1
		}
	}
	return out
}
