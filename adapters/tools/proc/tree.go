package proc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
)

// tree is one running leader with all its descendants.
type tree struct {
	runner     *Runner
	process    *os.Process
	runID      string
	cgroup     *cgroup.Group
	exhausted  bool            // the kernel ended it for its limit of memory
	startTicks uint64          // the leader's start time in ticks; read only without a control group
	inside     *boundary.Start // nil without a boundary; else the leader is the boundary and passes signals on

	mu     sync.Mutex
	over   bool // the leader has ended and its pid and group must not be signalled any more
	asked  bool // a cancel sent SIGTERM to the tree
	grace  *time.Timer
	killed chan struct{} // closed when the grace is over
}

// supervise waits for the leader, ends the rest of the tree and returns the leader's exit code.
func (t *tree) supervise(ctx context.Context) (int, error) {
	t.killed = make(chan struct{})
	if t.cgroup == nil {
		if st, err := readStat(t.process.Pid); err == nil {
			t.startTicks = st.start
		}
	}
	stopAsking := context.AfterFunc(ctx, t.ask)
	waitExit(t.process.Pid)
	stopAsking()
	if t.inside == nil {
		t.awaitGrace()
	}
	t.disarm()
	t.sweep()
	return t.reap()
}

// ask sends SIGTERM to the process group and starts the grace.
func (t *tree) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.asked {
		return
	}
	t.asked = true
	_ = syscall.Kill(-t.process.Pid, syscall.SIGTERM)
	t.grace = time.AfterFunc(t.runner.grace, t.kill)
}

// kill ends the group and all of the control group.
func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.killed)
	if t.over {
		return
	}
	if t.inside != nil && !t.contained() {
		_ = syscall.Kill(t.process.Pid, boundary.EndNow) // it ends what is inside, and then itself
		return
	}
	_ = syscall.Kill(-t.process.Pid, syscall.SIGKILL)
	t.cgroup.Kill()
}

// awaitGrace gives the rest of a cancelled group the remaining grace if its leader ended first.
func (t *tree) awaitGrace() {
	t.mu.Lock()
	asked := t.asked
	t.mu.Unlock()
	if !asked {
		return
	}
	for pause := shortest; t.groupAlive(); pause = min(2*pause, 5*longest) {
		next := time.NewTimer(pause)
		select {
		case <-t.killed:
			next.Stop()
			return
		case <-next.C:
		}
	}
}

// groupAlive reports whether the leader's process group has a member that still executes.
func (t *tree) groupAlive() bool {
	among := processes
	if t.cgroup != nil {
		among = t.stats
	}
	return slices.ContainsFunc(among(), func(s stat) bool { return s.group == t.process.Pid && s.alive() })
}

// disarm prevents a late cancel or the end of the grace from signalling another group with the same number.
func (t *tree) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.grace != nil {
		t.grace.Stop()
	}
}

// contained reports whether everything inside ends with the boundary.
func (t *tree) contained() bool { return t.runner.boundary.Status().Level == boundary.Namespaces }

// reap waits for the leader and returns how it ended. What a boundary could not start is an error.
func (t *tree) reap() (int, error) {
	state, err := t.process.Wait()
	t.runner.untrack(t.process.Pid)
	if err != nil {
		return 0, fmt.Errorf("proc: wait for process %d: %w", t.process.Pid, err)
	}
	if t.inside != nil {
		defer t.inside.Close()
		if err := t.inside.Failure(); err != nil {
			return 0, err
		}
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil
}

// sweep ends the remaining processes: first with SIGTERM, on which a connection master closes its connections. The
// leader is still a zombie, so its pid, group and session cannot be reused.
func (t *tree) sweep() {
	if t.cgroup != nil {
		if t.cgroup.Populated() && len(t.members()) > 0 {
			endAll(context.Background(), t.members, termGrace)
		}
		t.exhausted = t.runner.groups.Return(t.cgroup)
		return
	}
	// A boundary ends what is inside before it ends, unless it was killed itself.
	if t.inside != nil && (t.contained() || !t.killedItself()) {
		return
	}
	leader := t.process.Pid
	inGroup := func(s stat) bool { return s.session == leader || s.group == leader }
	// Processes in the session of another leader are of another run, and need no further check.
	may := func(s stat) bool {
		return s.start >= t.startTicks && (s.session == leader || !t.runner.tracked(s.session))
	}
	find := func() []process { return members(t.runner.scanner.processes(), t.runID, inGroup, may) }
	endAll(context.Background(), find, termGrace)
}

// stats lists the living processes of the control group.
func (t *tree) stats() []stat {
	var out []stat
	for _, pid := range t.cgroup.PIDs() {
		if s, err := readStat(pid); err == nil && s.alive() {
			out = append(out, s)
		}
	}
	return out
}

func (t *tree) members() []process {
	var out []process
	for _, s := range t.stats() {
		out = append(out, process{s.pid, s.start})
	}
	return out
}

// killedItself reports whether a signal ended the leader, which is still a zombie.
func (t *tree) killedItself() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, t.process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
	const exited = 1 // CLD_EXITED
	return err == nil && info.Code != exited
}

// waitExit blocks until the child has ended and leaves it a zombie, so that its pid is not reused.
func waitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
