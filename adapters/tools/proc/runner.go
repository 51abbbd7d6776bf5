package proc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/ports/execution"
)

// The defaults of Config.
const (
	DefaultKillGrace  = 10 * time.Second
	DefaultDrainDelay = 5 * time.Second
)

// Config holds the time limits and control groups of a Runner. Zero values select the defaults.
type Config struct {
	// KillGrace is the time between SIGTERM and SIGKILL for a cancelled tree.
	KillGrace time.Duration
	// DrainDelay bounds the wait for the end of the output after every known process of the tree has ended.
	DrainDelay time.Duration
	// Groups makes the control groups of the runs. Without them, as for nil, remaining processes are found by their
	// environment alone. The caller closes it after the runner.
	Groups *cgroup.Groups
	// Boundary keeps the runs apart; nil keeps nothing apart. The caller closes it after the runner.
	Boundary *boundary.Boundary
	// Limits are those of each run. Without a control group for them there is no limit of memory, and that of processes
	// is the boundary's.
	Limits   cgroup.Limits
	Profiles Profiles
}

// Runner starts processes and supervises them. It is safe for concurrent use.
type Runner struct {
	grace, drain time.Duration
	null         *os.File
	groups       *cgroup.Groups
	boundary     *boundary.Boundary
	limits       cgroup.Limits
	profiles     Profiles
	starts       chan startRequest
	stop         chan struct{}
	threads      sync.WaitGroup
	scanner      scanner

	mu      sync.Mutex
	closed  bool
	chosen  map[string]*profiled
	running sync.WaitGroup
	leaders map[int]bool // direct children, which nothing else may wait for
}

var (
	_ execution.Reaper = (*Runner)(nil)
	_ io.Closer        = (*Runner)(nil)
)

// ErrClosed is returned by Run once the runner is closed.
var ErrClosed = errors.New("the process runner is closed")

// New makes a Runner, starts its thread, and marks every descriptor of this process as close-on-exec. It fails only if
// /dev/null cannot be opened.
func New(c Config) (*Runner, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("proc: open the null device: %w", err)
	}
	r := &Runner{
		grace: c.KillGrace, drain: c.DrainDelay, null: null,
		starts: make(chan startRequest), stop: make(chan struct{}), leaders: make(map[int]bool),
		chosen: make(map[string]*profiled), profiles: c.Profiles,
		boundary: c.Boundary, limits: c.Limits, groups: c.Groups,
	}
	if r.boundary == nil {
		if r.boundary, err = boundary.Open(boundary.Config{Mode: boundary.Off}); err != nil {
			return nil, err
		}
	}
	if r.grace <= 0 {
		r.grace = DefaultKillGrace
	}
	if r.drain <= 0 {
		r.drain = DefaultDrainDelay
	}
	// Runs must not inherit descriptors from this process's parent; a kernel without the call leaves them open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	r.threads.Go(func() { cgroup.OnThread(r.serveStarts) })
	if adoptsOrphans() {
		r.threads.Go(r.collectOrphans)
	}
	return r, nil
}

// Contained reports whether the trees run in control groups of their own, which no process can leave.
func (r *Runner) Contained() bool { return r.groups.Usable() }

// Close waits for the running commands, which the caller cancels first, and ends the starting thread.
func (r *Runner) Close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if again {
		return nil
	}
	r.running.Wait()
	close(r.stop)
	r.threads.Wait()
	return r.null.Close()
}

// enter counts a command, so that Close waits for it.
func (r *Runner) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.running.Add(1)
	return nil
}

func (r *Runner) track(pid int) {
	r.mu.Lock()
	r.leaders[pid] = true
	r.mu.Unlock()
}

func (r *Runner) untrack(pid int) {
	r.mu.Lock()
	delete(r.leaders, pid)
	r.mu.Unlock()
}

func (r *Runner) tracked(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaders[pid]
}

type startRequest struct {
	path  string
	argv  []string
	attr  *os.ProcAttr
	group *cgroup.Group
	reply chan<- startReply
}

type startReply struct {
	process *os.Process
	err     error
}

// serveStarts starts every process from its thread. The kernel sends the parent-death signal when the forking thread
// ends, not the process, and Go may end idle threads.
func (r *Runner) serveStarts() {
	for {
		select {
		case q := <-r.starts:
			var p *os.Process
			err := q.group.Start(q.attr.Sys, func() (err error) {
				p, err = os.StartProcess(q.path, q.argv, q.attr)
				return err
			})
			if err == nil {
				r.track(p.Pid)
				// Children inherit the limit: no run writes a core file.
				_ = unix.Prlimit(p.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
			}
			q.reply <- startReply{p, err}
		case <-r.stop:
			return
		}
	}
}

func (r *Runner) start(q startRequest) (*os.Process, error) {
	reply := make(chan startReply, 1)
	q.reply = reply
	r.starts <- q
	a := <-reply
	return a.process, a.err
}
