package boundary

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Boundary starts programs in a level.
type Boundary struct {
	config Config
	status Status
	pool   *pool    // nil where runs keep the account of the server
	file   *os.File // the program inside
	hidden []string // resolved, sorted, each once
	engine func() (engine, error)
}

// Open finds the strongest level that works here, by running a program in each. In mode Required it returns an error
// that says why none is strong enough: Users for root, Namespaces for others. It returns an error for a bad setting.
func Open(c Config) (*Boundary, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &Boundary{config: c, engine: sync.OnceValues(findEngine)}
	if c.Mode == Off || c.Only == None {
		b.status = Status{Level: None, Reason: "isolation is switched off"}
		return b, nil
	}
	var err error
	if b.file, err = openProgram(); err != nil {
		return nil, err
	}
	for _, path := range c.Hide {
		b.hidden = append(b.hidden, real(path))
	}
	slices.Sort(b.hidden)
	b.hidden = slices.Compact(b.hidden)
	if err := b.choose(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close releases the program inside. Nothing is started afterwards.
func (b *Boundary) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// Status describes what was found.
func (b *Boundary) Status() Status { return b.status }

// Lease takes an account for a run, nil where runs keep that of the server. It is given back by its Close. Runs of one
// purpose get the same account if it is free and mounts hide what an earlier run left.
func (b *Boundary) Lease(purpose string) (*Account, error) {
	if b.pool == nil {
		return nil, nil
	}
	if b.status.Level != Namespaces {
		purpose = ""
	}
	return b.pool.lease(purpose)
}

// levels lists the levels to try.
func (b *Boundary) levels() []Level {
	all := []Level{Namespaces, Users, Landlock}
	if b.config.Only != "" {
		return []Level{b.config.Only}
	}
	if os.Geteuid() == 0 {
		return all[:2] // nothing executes as root
	}
	return []Level{Namespaces, Landlock}
}

// choose sets the status to the strongest level that works.
func (b *Boundary) choose() error {
	var reasons []string
	abi := landlockABI()
	for _, l := range b.levels() {
		err := b.try(l, abi)
		if err == nil {
			b.status.Reason = strings.Join(reasons, "; ")
			return b.check()
		}
		reasons = append(reasons, fmt.Sprintf("%s is not possible: %s", l, explain(err)))
	}
	b.status, b.pool = Status{Level: None, LandlockABI: abi, Reason: strings.Join(reasons, "; ")}, nil
	return b.check()
}

// check refuses a level that is too weak.
func (b *Boundary) check() error {
	least := Namespaces
	if os.Geteuid() == 0 {
		least = Users
	}
	if b.config.Mode == Required && b.status.Level.Strength() < least.Strength() {
		return fmt.Errorf("isolation: required, and the best level here is %s: %s", b.status.Level, b.status.Reason)
	}
	return nil
}

// try sets the status to a level and runs a program in it: with everything the kernel offers, else without what it
// lacks.
func (b *Boundary) try(l Level, abi int) error {
	b.status, b.pool = Status{Level: l, LandlockABI: abi, Filtered: filters()}, nil
	if l != Landlock && os.Geteuid() == 0 {
		if names := missing(l); names != "" {
			return fmt.Errorf("the server lacks the capabilities %s; add them, or run writ on the machine itself", names)
		}
		p, err := newPool(b.config.Users)
		if err != nil {
			return err
		}
		b.pool, b.status.Accounts = p, p.ids
	}
	if l == Landlock && abi == 0 {
		return errors.New("the kernel has no landlock; add it to the kernel's parameter lsm=, or use a kernel from 5.13 on")
	}
	if abi >= 6 {
		b.status.Scoped = true
		if err := b.probe(Profile{}); err == nil {
			return nil
		}
		b.status.Scoped = false
	}
	return b.probe(Profile{})
}

// missing names the capabilities that root needs for a level and lacks. Trying the level would not show that of ending
// a program of another account; namespaces end with their first process.
func missing(l Level) string {
	needed := map[string]int{"CHOWN": unix.CAP_CHOWN, "SETGID": unix.CAP_SETGID, "SETUID": unix.CAP_SETUID}
	if l == Namespaces {
		needed["SYS_ADMIN"] = unix.CAP_SYS_ADMIN
	} else {
		needed["KILL"] = unix.CAP_KILL
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData // the second half has the numbers from 32 on
	if unix.Capget(&header, &has[0]) != nil {
		return "" // trying tells
	}
	maps.DeleteFunc(needed, func(_ string, n int) bool { return has[0].Effective&(1<<n) != 0 })
	return strings.Join(slices.Sorted(maps.Keys(needed)), ", ")
}

// filters reports whether this architecture has a filter.
func filters() bool { return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" }

// landlockABI returns the version of landlock, 0 for none.
func landlockABI() int {
	const version = 1
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if errno != 0 {
		return 0
	}
	return int(n) //nolint:gosec // a small number
}

// probe runs a program in the present level.
func (b *Boundary) probe(p Profile) (err error) {
	account, err := b.Lease("")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, account.Close()) }()
	place := ""
	if p.Image != "" { // what a container can do depends on the file system
		place = b.config.Runs
	}
	home, err := os.MkdirTemp(place, "writ-probe-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	files := filepath.Join(home, "files")
	err = errors.Join(os.Mkdir(files, 0o711), os.Mkdir(filepath.Join(files, "tmp"), 0o700))
	if err == nil && account.Own() {
		err = os.Chown(filepath.Join(files, "tmp"), account.UID, account.GID)
	}
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	program := real("/bin/true")
	if p.Image != "" {
		program = "" // the image may have none
	}
	return b.run(Command{Path: program, Dir: "/", Account: account, Home: files, Env: []string{},
		Profile: p})
}

// run starts a command and waits for its end. It returns an error unless it ended with 0.
func (b *Boundary) run(c Command) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the null device: %w", err)
	}
	defer null.Close()
	c.Files = []*os.File{null, null, null}
	s, err := b.Prepare(c)
	if err != nil {
		return err
	}
	defer s.Close()
	runtime.LockOSThread() // the process ends with the thread that started it
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(s.Path, s.Argv, s.Attr)
	if err != nil {
		return &StepError{Step: startStep, Err: rootErrno(err)}
	}
	s.Started()
	state, err := p.Wait()
	if err != nil {
		return fmt.Errorf("wait for a process: %w", err)
	}
	if failed := s.Failure(); failed != nil {
		return failed
	}
	if !state.Success() {
		return fmt.Errorf("%s ended with %s", c.Path, state)
	}
	return nil
}

const startStep = "start a process in new namespaces"

func rootErrno(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
