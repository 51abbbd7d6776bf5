package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	limitFile   = "memory.limit_in_bytes"
	oomFile     = "memory.oom_control"
	eventFile   = "cgroup.event_control"
	threadsFile = "tasks"
	killTries   = 100
)

// limitsMemory returns why groups below this process's group of version 1 cannot limit memory, nil if they can.
func limitsMemory(own string) error {
	text, err := os.ReadFile(filepath.Join(own, oomFile))
	if err == nil && !bytes.Contains(text, []byte("\noom_kill ")) {
		err = errors.New("the kernel does not count what it ends")
	}
	err = errors.Join(err, unix.Access(own, unix.W_OK), unix.Access(filepath.Join(own, threadsFile), unix.W_OK),
		unix.Access(filepath.Join(own, eventFile), unix.F_OK))
	if err != nil {
		return fmt.Errorf("the control group %s of version 1 is not delegated to this process: %w", own, err)
	}
	return nil
}

// version1 is a group of version 1. The kernel ends one process that is over the limit; a goroutine ends the others.
type version1 struct {
	path     string
	home     string // the group of this process, to which a thread that started a process returns
	exceeded *os.File
	done     chan struct{}
	watching sync.WaitGroup
}

func newVersion1(path, home string, memory int64) (*version1, error) {
	x := &version1{path: path, home: home, done: make(chan struct{})}
	limit := strconv.FormatInt(memory, 10)
	errs := []error{put(path, limitFile, limit)}
	if err := put(path, "memory.memsw.limit_in_bytes", limit); errors.Is(err, fs.ErrNotExist) { // swap is not counted
		errs = append(errs, put(path, "memory.swappiness", "0"))
	} else {
		errs = append(errs, err)
	}
	return x, errors.Join(append(errs, x.watch())...)
}

// watch ends the whole group when the kernel has ended a process of it for its limit.
func (x *version1) watch() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	x.exceeded = os.NewFile(uintptr(fd), oomFile)
	control, err := os.Open(filepath.Join(x.path, oomFile))
	if err != nil {
		return err
	}
	err = put(x.path, eventFile, fmt.Sprintf("%d %d", fd, control.Fd()))
	if err = errors.Join(err, control.Close()); err != nil {
		return err
	}
	x.watching.Go(func() {
		if _, err := x.exceeded.Read(make([]byte, 8)); err != nil {
			return
		}
		// The event comes before the kernel chooses a process, and it may choose none while another one is ending.
		for pause := shortest; oomKills(x.path, oomFile) == 0; pause = min(2*pause, longest) {
			select {
			case <-time.After(pause):
			case <-x.done:
				return
			}
		}
		x.kill()
	})
	return nil
}

// start moves a thread to the group while it starts the process, since a process begins in the group of the thread that
// forks it. What the thread allocates meanwhile is charged to the group of the main thread.
func (x *version1) start(_ *syscall.SysProcAttr, fn func() error) (err error) {
	OnThread(func() {
		if err = put(x.path, threadsFile, "0"); err != nil {
			err = fmt.Errorf("enter a control group: %w", err)
			return
		}
		err = fn()
		for range killTries { // only a lack of memory of the kernel refuses it
			if put(x.home, threadsFile, "0") == nil {
				break
			}
			<-time.After(longest)
		}
	})
	return err
}

// OnThread calls fn on a thread that nothing else uses meanwhile. It is not the main thread, whose group has the memory
// of this process and is killed with what exceeds its limit.
func OnThread(fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != unix.Getpid() {
		fn()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		OnThread(fn) // this goroutine has the main thread
	}()
	<-done
}

// kill ends what is in the group until nothing is, since processes may fork meanwhile. A process that is not in the
// group any more when its id is held is another one.
func (x *version1) kill() {
	pause := shortest
	for range killTries {
		held := make(map[int]int)
		for _, pid := range x.pids() {
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				held[pid] = fd
			}
		}
		for _, pid := range x.pids() {
			if fd, ok := held[pid]; ok {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
		}
		for _, fd := range held {
			_ = unix.Close(fd)
		}
		if len(held) == 0 {
			return
		}
		<-time.After(pause)
		pause = min(2*pause, longest)
	}
}

func (x *version1) populated() bool { return len(x.pids()) > 0 }

// pids opens the file each time: an open one repeats what it has shown before. It leaves this process out, which is
// listed while a thread starts another one.
func (x *version1) pids() []int {
	b, _ := os.ReadFile(filepath.Join(x.path, "cgroup.procs"))
	return slices.DeleteFunc(pidsOf(b), func(pid int) bool { return pid == os.Getpid() })
}

func (x *version1) countFile() string { return oomFile }

func (x *version1) close() {
	close(x.done)
	if x.exceeded != nil {
		_ = x.exceeded.Close()
	}
	x.watching.Wait()
}
