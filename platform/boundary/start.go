package boundary

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
	"github.com/writ-automation/writ/platform/cgroup"
)

// EndNow is the signal to a boundary that ends everything inside at once. SIGTERM is passed on to the tool.
const EndNow = child.EndNow

// Command is one program inside.
type Command struct {
	// Path is the executable, Args are its arguments without its name, Env its whole environment.
	Path string
	Args []string
	Env  []string
	// Dir is the working directory.
	Dir string
	// Files become the descriptors 0 and up.
	Files []*os.File
	// Account is who executes it, from Lease.
	Account *Account
	// Home is a directory that it may write, with the files of its run. In levels with mounts it gets a private /tmp
	// from the directory tmp in it, which must exist, and an entry in the list of users with the directory work in it as
	// its home.
	Home string
	// Show is what it sees besides.
	Show []Path
	// Profile is what it may do, which the boundary gives.
	Profile Profile
}

// Start is a command that is ready to be started as a process. It is used once.
type Start struct {
	// Path, Argv and Attr are what os.StartProcess takes. The caller may add a control group.
	Path string
	Argv []string
	Attr *os.ProcAttr

	plan, result, status *os.File
	container            *container // nil without one
}

// Close releases the files of a start. It is called after the process has ended, or instead of starting it.
func (s *Start) Close() {
	_ = errors.Join(s.plan.Close(), s.result.Close(), s.status.Close())
	s.container.close()
}

// Started releases what the process has got.
func (s *Start) Started() {
	_ = errors.Join(s.plan.Close(), s.status.Close())
	if s.container != nil {
		s.container.inner.Started()
	}
}

// Failure returns why the boundary could not be built or the program could not be started, nil if it was. It is called
// after the process has ended. The error of a program that could not be started is that of the system.
func (s *Start) Failure() error {
	if err, reported := s.report(); reported || s.container == nil {
		return err
	}
	if err, reported := s.container.inner.report(); reported {
		return err
	}
	return &StepError{Step: containerStep, Err: s.container.reason()}
}

// report returns what a boundary reported about its steps, and whether it reported something.
func (s *Start) report() (failed error, reported bool) {
	b, err := io.ReadAll(io.LimitReader(s.result, 8<<10))
	if err != nil || len(b) == 0 {
		return nil, false
	}
	step, code, _ := bytes.Cut(b, []byte{0})
	errno, err := strconv.Atoi(string(code))
	if err != nil || len(step) == 0 {
		return nil, true
	}
	return &StepError{Step: string(step), Err: syscall.Errno(errno)}, true
}

// StepError is a step that failed while a boundary was built or the program started.
type StepError struct {
	Step string
	Err  error
}

func (e *StepError) Error() string { return e.Step + ": " + e.Err.Error() }
func (e *StepError) Unwrap() error { return e.Err }

// Group returns a control group for one program that is not a run, and what takes it back: it ends what is left and
// reports whether the kernel ended a process for the limit of memory. The group is nil where there is no limit. An
// error says why the group cannot be made.
func (b *Boundary) Group() (*cgroup.Group, func() (exhausted bool), error) {
	none := func() bool { return false }
	if b.config.Memory == 0 || b.config.Groups.Unlimited() != nil {
		return nil, none, nil
	}
	x, err := b.config.Groups.Take(cgroup.Limits{Memory: b.config.Memory})
	if x == nil || err != nil {
		return nil, none, err
	}
	return x, func() bool { x.Kill(); return b.config.Groups.Return(x) }, nil
}

// Prepare returns the start of a command inside the boundary. The level is not None.
func (b *Boundary) Prepare(c Command) (*Start, error) {
	p := child.Plan{
		Path: c.Path, Dir: c.Dir, Args: append([]string{c.Path}, c.Args...), Env: c.Env, UID: -1, GID: -1,
		Files: len(c.Files) - 3, PIDNamespace: b.status.Level == Namespaces,
		Scope: b.status.Scoped && !c.Profile.Host, Filter: b.status.Filtered && !c.Profile.Host,
		Free: c.Profile.Host, Nested: c.Profile.Nested, Loopback: c.Profile.NoNetwork,
	}
	if err := noNUL(&p); err != nil {
		return nil, err
	}
	if c.Profile.Image != "" {
		return b.contain(&p, c)
	}
	if c.Account.Own() {
		p.UID, p.GID, p.Groups = c.Account.UID, c.Account.GID, c.Profile.Groups
		p.Processes = cmp.Or(c.Profile.Processes, b.config.Processes)
	}
	switch b.status.Level {
	case Namespaces:
		mounts, err := b.mounts(c)
		if err != nil {
			return nil, err
		}
		p.Mounts = mounts
	case Landlock:
		p.Handled, p.Rules = b.rules(c)
	}
	return b.start(&p, c)
}

// noNUL refuses what no program can get, and what would be read as something else in the plan.
func noNUL(p *child.Plan) error {
	for _, s := range append(append([]string{p.Path, p.Dir}, p.Args...), p.Env...) {
		if strings.ContainsRune(s, 0) {
			return syscall.EINVAL
		}
	}
	return nil
}

func (b *Boundary) start(p *child.Plan, c Command) (_ *Start, err error) {
	s, err := order(p)
	if err != nil {
		return nil, err
	}
	files := append([]*os.File{}, c.Files[:3]...)
	files = append(append(files, s.plan, s.status), c.Files[3:]...)
	// This program is one of the files: until they are in their places, a new process uses other descriptors for itself.
	files = append(files, b.file)
	s.Path, s.Argv = child.SelfFD+strconv.Itoa(len(files)-1), []string{child.Name}
	s.Attr = &os.ProcAttr{Dir: "/", Env: []string{child.Marker}, Files: files, Sys: b.attributes(c.Profile)}
	return s, nil
}

// order makes the files by which a boundary gets its plan and tells of its steps.
func order(p *child.Plan) (_ *Start, err error) {
	s := &Start{}
	if s.plan, err = sealed("plan", 0, p.Encode()); err != nil {
		return nil, fmt.Errorf("hand over the plan: %w", err)
	}
	if s.result, s.status, err = os.Pipe(); err != nil {
		_ = s.plan.Close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	return s, nil
}

// attributes returns how the process starts. When this process dies, the kernel ends a namespace with its first
// process; without one the process itself has to end what is inside.
func (b *Boundary) attributes(p Profile) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	if b.status.Level != Namespaces {
		return a
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
	if p.NoNetwork {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		if p.Image != "" { // the engine wants to be root, which is this account
			a.UidMappings[0].ContainerID, a.GidMappings[0].ContainerID = 0, 0
		}
		// A program of another account than root keeps capabilities over its start only as ambient ones.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
		if p.NoNetwork {
			a.AmbientCaps = append(a.AmbientCaps, unix.CAP_NET_ADMIN)
		}
	}
	return a
}

// below reports whether path is dir or lies in it.
func below(dir, path string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// real resolves the links of a path, whose last parts may not exist yet.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(real(dir), filepath.Base(path))
	}
	return path
}
