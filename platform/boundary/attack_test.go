package boundary_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The attack program is this test binary. Its arguments name the attack and its target; it prints open if the attack
// worked, and why it did not otherwise.
const attackName = "attack"

// canary is what attacks try to read. It must be in no argument and in no environment of an attack.
func canary() []byte { return []byte("cana" + "ry-61c4") }

// attacks are tried one by one; each returns nil if it worked.
func attacks() map[string]func(t target) error {
	return map[string]func(t target) error{
		"read the key":                  func(t target) error { return reads(t.key) },
		"read the key by a root link":   func(t target) error { return byProc(t.key, "root") },
		"read the key by a directory":   func(t target) error { return byProc(filepath.Base(t.key), "cwd") },
		"read the key by a descriptor":  func(target) error { return byDescriptor() },
		"read the key by a hard link":   byLink,
		"read a run's file":             func(t target) error { return reads(t.other) },
		"read an environment":           func(target) error { return byEach("environ") },
		"open a memory":                 func(t target) error { return opens("/proc/" + t.pid + "/mem") },
		"read a memory":                 readMemory,
		"trace a process":               trace,
		"take a descriptor":             takeDescriptor,
		"signal a process":              func(t target) error { return unix.Kill(t.number(), 0) },
		"limit a process":               limit,
		"slow a process":                func(t target) error { return unix.Setpriority(unix.PRIO_PROCESS, t.number(), 19) },
		"reach an agent":                func(t target) error { return connects(t.socket) },
		"reach an abstract socket":      func(t target) error { return connects(t.abstract) },
		"attach shared memory":          attach,
		"make a namespace and mount":    mountNested,
		"push input":                    pushInput,
		"use an io_uring":               ring,
		"see a file of /tmp":            func(t target) error { return reads(t.temporary) },
		"see a file of /dev/shm":        func(t target) error { return reads(t.shared) },
		"see a process in the list":     func(t target) error { return opens("/proc/" + t.pid + "/stat") },
		"gain privileges by a program":  privileged,
		"dump the memory of its parent": func(target) error { return opens("/proc/" + strconv.Itoa(os.Getppid()) + "/mem") },
	}
}

// target is what there is to attack.
type target struct{ pid, key, other, socket, abstract, temporary, shared, segment string }

func (t target) arguments() []string {
	return []string{t.pid, t.key, t.other, t.socket, t.abstract, t.temporary, t.shared, t.segment}
}

func targetOf(a []string) target { return target{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]} }

func (t target) number() int { n, _ := strconv.Atoi(t.pid); return n }

// attack is the main function of the attack program.
func attack(args []string) int {
	err := attacks()[args[0]](targetOf(args[1:]))
	if err == nil {
		fmt.Println("open")
		return 0
	}
	fmt.Println("closed:", err)
	return 0
}

var errEmpty = errors.New("nothing found")

func reads(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(b, canary()) {
		err = errEmpty
	}
	return err
}

func opens(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func connects(address string) error {
	c, err := net.Dial("unix", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// eachProcess calls try for the directories of other processes until it works.
func eachProcess(try func(dir string) error) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	last := errEmpty
	for _, dir := range dirs {
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if last = try(dir); last == nil {
			return nil
		}
	}
	return last
}

func byProc(path, link string) error {
	return eachProcess(func(dir string) error { return reads(filepath.Join(dir, link, path)) })
}

func byEach(file string) error {
	return eachProcess(func(dir string) error { return reads(filepath.Join(dir, file)) })
}

func byDescriptor() error {
	return eachProcess(func(dir string) error {
		list, err := os.ReadDir(filepath.Join(dir, "fd"))
		last := errors.Join(errEmpty, err)
		for _, e := range list {
			path := filepath.Join(dir, "fd", e.Name())
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<10 {
				continue
			}
			if last = reads(path); last == nil {
				return nil
			}
		}
		return last
	})
}

func byLink(t target) error {
	link := filepath.Join(filepath.Dir(t.other), "linked-"+strconv.Itoa(os.Getpid()))
	if wd, err := os.Getwd(); err == nil && wd != "/" {
		link = filepath.Join(wd, "linked")
	}
	if err := os.Link(t.key, link); err != nil {
		return err
	}
	defer os.Remove(link)
	return reads(link)
}

func readMemory(t target) error {
	// The first page of the program is the header of the binary.
	b, err := os.ReadFile("/proc/" + t.pid + "/maps")
	if err != nil {
		return err
	}
	start, _, _ := strings.Cut(string(b), "-")
	at, err := strconv.ParseUint(start, 16, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, 4)
	local := []unix.Iovec{{Base: &buf[0], Len: 4}}
	_, err = unix.ProcessVMReadv(t.number(), local, []unix.RemoteIovec{{Base: uintptr(at), Len: 4}}, 0)
	return err
}

func trace(t target) error {
	runtime.LockOSThread() // only the thread that attached may wait and detach
	defer runtime.UnlockOSThread()
	err := unix.PtraceAttach(t.number())
	if err == nil {
		_, _ = unix.Wait4(t.number(), nil, 0, nil)
		err = unix.PtraceDetach(t.number())
	}
	return err
}

func takeDescriptor(t target) error {
	fd, err := unix.PidfdOpen(t.number(), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 1, 0)
	return err
}

func limit(t target) error {
	return unix.Prlimit(t.number(), unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}

func attach(t target) error {
	id, err := strconv.Atoi(t.segment)
	if err != nil {
		return err
	}
	b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.SysvShmDetach(b) }()
	if !bytes.Contains(b, canary()) {
		return errEmpty
	}
	return nil
}

// mountNested tries what a program may do that is root in a user namespace of its own.
func mountNested(target) error {
	if os.Getuid() == 0 {
		return unix.Unshare(unix.CLONE_NEWNS)
	}
	// A process with threads cannot enter a user namespace, a new one can.
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}})
	if err == nil {
		_, err = p.Wait()
	}
	return err
}

// pushInput types into its own terminal, which the filter does not distinguish from the terminal of another process.
func pushInput(target) error {
	signal.Ignore(unix.SIGHUP) // the terminal ends with its master
	_, _ = unix.Setsid()       // inside it is done already
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return err
	}
	tty, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(tty), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	if errno == unix.EPERM {
		return errno
	}
	return nil // a new kernel refuses it for another reason
}

func ring(target) error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// privileged asks for new privileges. Where they are forbidden, a program with the bit for root gets none.
func privileged(target) error {
	n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && n == 1 {
		err = unix.EPERM
	}
	return err
}
