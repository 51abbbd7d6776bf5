package boundary_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
)

// in executes a script in a profile.
func (w *fixture) in(t testing.TB, p boundary.Profile, script string, args ...string) (string, int) {
	t.Helper()
	a, err := w.b.Lease("")
	must(t, err)
	defer func() { must(t, a.Close()) }()
	home := w.home(t, a)
	return w.runIn(t, boundary.Command{Path: "/bin/bash", Args: append([]string{"-c", script, "bash"}, args...),
		Dir: filepath.Join(home, "work"), Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, Account: a, Home: home,
		Profile: p})
}

// TestProfilesTakeAway runs scripts without a network and without a file system to write, and tries the same in the
// standard profile, where it works.
func TestProfilesTakeAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t, boundary.Namespaces)
	open := filepath.Join(w.dir, "open")
	must(t, os.Mkdir(open, 0o755))
	must(t, os.Chmod(open, 0o777))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	sealed := boundary.Profile{NoNetwork: true, ReadOnly: true, Hide: []string{open}}
	must(t, w.b.Gives(sealed))
	for name, c := range map[string]struct {
		profile boundary.Profile
		script  string
	}{
		"a listener outside":  {boundary.Profile{NoNetwork: true}, `exec 3<>/dev/tcp/127.0.0.1/"$2"`},
		"an interface":        {boundary.Profile{NoNetwork: true}, `grep -q "$(ls /sys/class/net | grep -v '^lo$' | head -1):" /proc/net/dev`},
		"an open directory":   {boundary.Profile{ReadOnly: true}, `mktemp -p "$1"`},
		"a hidden directory":  {boundary.Profile{Hide: []string{open}}, `mktemp -p "$1"`},
		"a nested namespace":  {boundary.Profile{Nested: true}, `! unshare --user true`},
		"a large file in shm": {boundary.Profile{SharedMemory: 1 << 20}, `head -c 4M /dev/zero >/dev/shm/x`},
	} {
		if out, code := w.in(t, boundary.Profile{}, c.script, open, port); code != 0 {
			t.Errorf("%s: the standard profile does not give it: %d %s", name, code, out)
		}
		if out, code := w.in(t, c.profile, c.script, open, port); code == 0 {
			t.Errorf("%s: the profile gives it: %s", name, out)
		}
	}
	// Ordinary work is possible.
	out, code := w.in(t, sealed, `set -e; echo a >own; echo b >/tmp/b; echo c >/dev/shm/c; cat own /tmp/b /dev/shm/c >/dev/null
		python3 -c 'import multiprocessing as m, socket as s
l = s.create_server(("127.0.0.1", 0)); s.create_connection(l.getsockname()); m.Pool(1).map(abs, [1])'
		test -z "$(ls -A "$1")"`, open)
	if code != 0 {
		t.Errorf("%d %s", code, out)
	}
}

// TestProfilesGive runs a program with the bit for root, which becomes root in a privileged profile alone, among
// processes of its own.
func TestProfilesGive(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		w := newFixture(t, boundary.Namespaces)
		for _, p := range []boundary.Profile{{Host: true}, {Groups: []int{4}}} {
			if err := w.b.Gives(p); err == nil || !strings.Contains(err.Error(), "root") && !strings.Contains(err.Error(),
				"account") {
				t.Errorf("%+v is given by a server that is not root: %v", p, err)
			}
		}
		return
	}
	w := newFixture(t, boundary.Namespaces)
	rooted := filepath.Join(w.dir, "rooted")
	if out, err := exec.Command("install", "-m", "4755", "/usr/bin/id", rooted).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	host := boundary.Profile{Host: true, Groups: []int{4}}
	must(t, w.b.Gives(host))
	script := `"$1" -u; id -u; id -G; test "$$" -lt 100 && echo own; grep NoNewPrivs /proc/self/status`
	out, _ := w.in(t, host, script, rooted)
	if lines := strings.Split(out, "\n"); len(lines) < 5 || lines[0] != "0" || lines[1] == "0" ||
		!strings.HasSuffix(lines[2], " 4") || lines[3] != "own" || lines[4] != "NoNewPrivs:\t0" {
		t.Errorf("host: %s", out)
	}
	if out, _ = w.in(t, boundary.Profile{}, script, rooted); strings.HasPrefix(out, "0\n") {
		t.Errorf("standard: %s", out)
	}
	// An account of the machine keeps its entry.
	b, err := boundary.Open(boundary.Config{Mode: boundary.Required, Users: boundary.Range{First: 65534, Last: 65534}})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	w.b = b
	if out, _ := w.in(t, host, "id -un; grep -c writ-run /etc/passwd"); out != "nobody\n0\n" {
		t.Errorf("an account of the machine: %s", out)
	}
}

// TestProfilesNeedLevels asks weaker levels for what they cannot give.
func TestProfilesNeedLevels(t *testing.T) {
	t.Parallel()
	for _, level := range append(levels()[1:], boundary.None) {
		b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level})
		must(t, err)
		t.Cleanup(func() { must(t, b.Close()) })
		for _, p := range []boundary.Profile{{Host: true}, {NoNetwork: true}, {ReadOnly: true}} {
			if err := b.Gives(p); err == nil || !strings.Contains(err.Error(), "level namespaces") {
				t.Errorf("%s gives %+v: %v", level, p, err)
			}
		}
		if err := b.Gives(boundary.Profile{Hide: []string{"/srv"}}); (err == nil) != (level == boundary.Landlock) {
			t.Errorf("%s hides: %v", level, err)
		}
		must(t, b.Gives(boundary.Profile{Processes: 9}))
	}
}

// TestFilesOfEveryNumber gives a command a file of each number that a process may have. A new process uses numbers
// above them for itself, also those of other files of this one.
func TestFilesOfEveryNumber(t *testing.T) {
	t.Parallel()
	w := newFixture(t, boundary.Namespaces)
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	a, err := w.b.Lease("")
	must(t, err)
	defer func() { must(t, a.Close()) }()
	home := w.home(t, a)
	for least := range 96 {
		fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, least)
		must(t, err)
		file := os.NewFile(uintptr(fd), os.DevNull)
		const script = "for n in {3..120}; do if [ -e /proc/$$/fd/$n ]; then echo $n; fi; done"
		text, code := w.runIn(t, boundary.Command{Path: "/bin/bash", Args: []string{"-c", script},
			Dir: filepath.Join(home, "work"), Env: []string{"PATH=/usr/bin:/bin"}, Account: a, Home: home,
			Files: []*os.File{file}})
		must(t, file.Close())
		if code != 0 || text != "3\n" {
			t.Errorf("with the descriptor %d: %d %s", fd, code, text)
		}
	}
}
