package boundary_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/depthtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == attackName {
		syscall.Exit(attack(os.Args[1:])) // a watched binary would wait a second
	}
	if len(os.Args) == 3 && os.Args[0] == serverName {
		os.Exit(serve(os.Args[1], os.Args[2]))
	}
	if len(os.Args) > 3 && os.Args[1] == refuseName {
		os.Exit(refuseCalls(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) > 2 && os.Args[1] == innerName {
		os.Exit(inner(os.Args[2:]))
	}
	if len(os.Args) == 2 && os.Args[1] == statusName {
		os.Exit(printStatus())
	}
	os.Exit(m.Run())
}

// fixture is a stand-in for a server with another run.
type fixture struct {
	dir     string // everybody may pass it
	program string
	data    string // hidden
	target  target
	account *boundary.Account // of the other run
	b       *boundary.Boundary
}

// places returns a directory below the temporary one that everybody may pass. Tests of other accounts need that.
func places(t testing.TB) string {
	t.Helper()
	base := "/var/lib"
	if os.Getuid() != 0 {
		base = os.TempDir() // the one of the repetition, whose path is short enough for a socket
	}
	dir, err := os.MkdirTemp(base, "writ-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, canary(), mode))
}

// install makes a program. Another process writes it: a file that is open for writing cannot be executed, and a process
// that is being started here could have it open.
func install(t testing.TB, from, to string) {
	t.Helper()
	self, err := os.Readlink(from)
	if err != nil {
		self = from
	}
	if out, err := exec.Command("install", "-m", "755", self, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// newFixture makes a server's directory, and another run with secrets. Modes are those that the server uses.
func newFixture(t testing.TB, level boundary.Level) *fixture {
	t.Helper()
	w := &fixture{dir: places(t)}
	w.data = filepath.Join(w.dir, "data")
	must(t, os.Mkdir(w.data, 0o700))
	w.program = filepath.Join(w.dir, "program")
	install(t, "/proc/self/exe", w.program)
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level,
		Hide: []string{w.data, filepath.Join(w.dir, "runs")}})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	if got := b.Status(); got.Level != level {
		t.Fatalf("the level is %s: %s", got.Level, got.Reason)
	}
	w.b = b
	must(t, os.Mkdir(filepath.Join(w.dir, "runs"), 0o711))
	w.account, err = b.Lease("")
	must(t, err)
	t.Cleanup(func() { must(t, w.account.Close()) })
	w.fill(t)
	return w
}

// fill makes what there is to attack.
func (w *fixture) fill(t testing.TB) {
	t.Helper()
	home := w.home(t, w.account)
	w.target = target{
		key: filepath.Join(w.data, "key"), other: filepath.Join(home, "work", "secret"),
		socket: filepath.Join(home, "work", "s"), abstract: "@writ-test-" + strconv.Itoa(os.Getpid()) + filepath.Base(w.dir),
		temporary: filepath.Join("/tmp", filepath.Base(w.dir)), shared: filepath.Join("/dev/shm", filepath.Base(w.dir)),
	}
	for _, path := range []string{w.target.key, w.target.other, w.target.temporary, w.target.shared} {
		write(t, path, 0o600)
	}
	t.Cleanup(func() { _ = errors.Join(os.Remove(w.target.temporary), os.Remove(w.target.shared)) })
	for _, address := range []string{w.target.socket, w.target.abstract} {
		l, err := net.Listen("unix", address)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
	}
	if w.account.Own() {
		must(t, os.Chown(w.target.other, w.account.UID, w.account.GID))
		must(t, os.Chown(w.target.socket, w.account.UID, w.account.GID))
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	must(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	b, err := unix.SysvShmAttach(id, 0, 0)
	must(t, err)
	copy(b, canary())
	must(t, unix.SysvShmDetach(b))
	w.target.segment = strconv.Itoa(id)
	// The stand-in for a server has the key open, its directory as its own, and a secret in its environment.
	c := exec.Command("/bin/sleep", "1000")
	c.Dir, c.Env = w.data, []string{"SECRET=" + string(canary())}
	key, err := os.Open(w.target.key)
	must(t, err)
	defer key.Close()
	c.ExtraFiles = []*os.File{key}
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	w.target.pid = strconv.Itoa(c.Process.Pid)
}

// home makes the directory of a run as the server does.
func (w *fixture) home(t testing.TB, a *boundary.Account) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Join(w.dir, "runs"), "run")
	must(t, err)
	files := filepath.Join(dir, "files")
	must(t, os.Chmod(dir, 0o711))
	must(t, os.Mkdir(files, 0o711))
	for _, name := range []string{"work", "tmp"} {
		must(t, os.Mkdir(filepath.Join(files, name), 0o700))
		if a.Own() {
			must(t, os.Chown(filepath.Join(files, name), a.UID, a.GID))
		}
	}
	return files
}

// run executes a program inside and returns its output and exit code.
func (w *fixture) run(t testing.TB, argv ...string) (string, int) {
	t.Helper()
	a, err := w.b.Lease("")
	must(t, err)
	defer func() { must(t, a.Close()) }()
	home := w.home(t, a)
	return w.runIn(t, boundary.Command{Path: argv[0], Args: argv[1:], Dir: filepath.Join(home, "work"),
		Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, Account: a, Home: home})
}

// runIn executes a command inside.
func (w *fixture) runIn(t testing.TB, c boundary.Command) (string, int) {
	t.Helper()
	p, out, s := w.startIn(t, c)
	defer s.Close()
	text := <-out
	state, err := p.Wait()
	must(t, err)
	if err := s.Failure(); err != nil {
		return text + err.Error(), -1
	}
	return text, state.ExitCode()
}

// startIn starts a command; its output comes when it and everything in it has ended.
func (w *fixture) startIn(t testing.TB, c boundary.Command) (*os.Process, <-chan string, *boundary.Start) {
	t.Helper()
	from, to, err := os.Pipe()
	must(t, err)
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	c.Files = append([]*os.File{null, to, to}, c.Files...)
	s, err := w.b.Prepare(c)
	must(t, err)
	runtime.LockOSThread() // the process ends with the thread that started it, which is this test's
	p, err := os.StartProcess(s.Path, s.Argv, s.Attr)
	must(t, err)
	s.Started()
	must(t, to.Close())
	out := make(chan string, 1)
	go func() {
		defer from.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(from)
		out <- b.String()
	}()
	return p, out, s
}

// attackBy runs an attack inside, or without a boundary.
func (w *fixture) attackBy(t testing.TB, name string, inside bool) string {
	t.Helper()
	args := append([]string{name}, w.target.arguments()...)
	if !inside {
		c := &exec.Cmd{Path: w.program, Args: append([]string{attackName}, args...), Dir: w.dir, Env: []string{}}
		b, err := c.CombinedOutput()
		must(t, err)
		return strings.TrimSpace(string(b))
	}
	// A boundary starts a program under its path, and the attack program knows itself by its name.
	argv := append([]string{"/bin/bash", "-c", `exec -a ` + attackName + ` "$0" "$@"`, w.program}, args...)
	out, code := w.run(t, argv...)
	if code != 0 {
		t.Fatalf("%s: %d %s", name, code, out)
	}
	return strings.TrimSpace(out)
}

// remains are the attacks that a level does not close. The server reports isolation as weaker there.
func remains(l boundary.Level) []string {
	switch l {
	case boundary.Users:
		return []string{"see a process in the list"}
	case boundary.Landlock:
		return []string{"see a process in the list", "reach an agent", "attach shared memory", "see a file of /tmp",
			"see a file of /dev/shm", "limit a process", "slow a process"}
	}
	return nil
}

// levels are those that this account can have.
func levels() []boundary.Level {
	if os.Getuid() == 0 {
		return []boundary.Level{boundary.Namespaces, boundary.Users}
	}
	return []boundary.Level{boundary.Namespaces, boundary.Landlock}
}

// TestAttacks tries every attack in every level, and that it works without one.
// Keeps T08, T44.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, level)
			for name := range attacks() {
				without, with := w.attackBy(t, name, false), w.attackBy(t, name, true)
				if without != "open" {
					t.Errorf("%s: without a boundary: %s", name, without)
				}
				if want := slices.Contains(remains(level), name); want != (with == "open") {
					t.Errorf("%s: %s", name, with)
				}
			}
		})
	}
}

// TestAsAnotherUser repeats the tests as an account that is not root.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // this is the repetition
	}
	dir := places(t)
	must(t, os.Chown(dir, 64999, 64999))
	program := filepath.Join(dir, "tests")
	install(t, "/proc/self/exe", program)
	c := exec.Command(program, "-test.v", "-test.run="+depthtest.Of("Attacks|Leftovers|Inside|Profiles", ""))
	c.Dir, c.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64999, Gid: 64999}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
