package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reap ends every process whose environment contains exactly this run's id, with all that descends from it or shares
// its session. SIGTERM comes first, SIGKILL after the runner's grace. It returns an error if the context ended first
// or a process could not be ended.
func (r *Runner) Reap(ctx context.Context, runID string) (int, error) {
	if runID == "" {
		return 0, errors.New("proc: reap: a run id is needed")
	}
	find := func() []process {
		return members(processes(), runID, func(stat) bool { return false }, func(stat) bool { return true })
	}
	n := endAll(ctx, find, r.grace)
	if n == 0 {
		return 0, nil
	}
	if err := ctx.Err(); err != nil {
		return n, fmt.Errorf("proc: reap run %s: %w", runID, err)
	}
	if left := find(); len(left) > 0 {
		return n, fmt.Errorf("proc: reap run %s: %d processes did not end", runID, len(left))
	}
	return n, nil
}

// collectEvery is the pause between two scans for unawaited zombies.
const collectEvery = time.Second

// adoptsOrphans reports whether orphans become children of this process: in a container it may be the init.
func adoptsOrphans() bool {
	var subreaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return os.Getpid() == 1 || err == nil && subreaper == 1
}

// collectOrphans waits for orphans of the runs that ended by themselves, until the runner stops.
func (r *Runner) collectOrphans() {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	seen := map[process]bool{}
	for {
		select {
		case <-tick.C:
			seen = r.collect(seen)
		case <-r.stop:
			return
		}
	}
}

// collect waits for the zombies that already existed at the last scan. A child that another goroutine awaits is gone
// by then, and children outside of the runs share this process's session and are not touched.
func (r *Runner) collect(before map[process]bool) map[process]bool {
	self, now := os.Getpid(), map[process]bool{}
	mine, err := readStat(self)
	if err != nil {
		return now
	}
	for _, s := range processes() {
		if s.ppid != self || s.alive() || s.session == mine.session || r.tracked(s.pid) {
			continue
		}
		if p := (process{s.pid, s.start}); before[p] {
			_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
		} else {
			now[p] = true
		}
	}
	return now
}
