package proc

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// termGrace is the time for remaining processes of an ended run to react to SIGTERM.
	termGrace = 250 * time.Millisecond
	// killWait bounds the wait for processes that do not react to SIGKILL: those in an uninterruptible call.
	killWait = 5 * time.Second
	shortest = 500 * time.Microsecond
	longest  = 20 * time.Millisecond
)

// process identifies one process uniquely.
type process struct {
	pid   int
	start uint64
}

// signal sends a signal to exactly this process. The descriptor pins the pid before the start times are compared, so a
// reused pid never gets the signal.
func (p process) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if s, err := readStat(p.pid); err == nil && s.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// endAll sends SIGTERM to the processes from find, kills those that remain after termWait and returns the number of
// processes it found. It returns when find returns none, when the context ends or when the kernel keeps a killed
// process for longer than a bound.
func endAll(ctx context.Context, find func() []process, termWait time.Duration) int {
	met := map[process]bool{}
	kill, giveUp := time.NewTimer(termWait), time.NewTimer(termWait+killWait)
	defer kill.Stop()
	defer giveUp.Stop()
	sig, pause := syscall.SIGTERM, shortest
	for {
		found := find()
		if len(found) == 0 {
			return len(met)
		}
		for _, p := range found {
			if !met[p] || sig == syscall.SIGKILL {
				p.signal(sig)
			}
			met[p] = true
		}
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-kill.C:
			sig, pause = syscall.SIGKILL, shortest
		case <-giveUp.C:
			next.Stop()
			return len(met)
		case <-ctx.Done():
			next.Stop()
			return len(met)
		}
		next.Stop()
		pause = min(2*pause, longest)
	}
}
