package boundary_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/boundary"

	"github.com/writ-automation/writ/ports/waittest"
)

// eachLevel runs a test in every level that this account can have.
func eachLevel(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	for _, level := range levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, level))
		})
	}
}

// sh runs a script inside.
func (w *fixture) sh(t testing.TB, script string, args ...string) (string, int) {
	t.Helper()
	return w.run(t, append([]string{"/bin/bash", "-c", script, "bash"}, args...)...)
}

// TestResults checks the exit codes and errors of programs that end.
func TestResults(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *fixture) {
		for script, want := range map[string]int{
			"exit 0": 0, "exit 7": 7, "exit 125": 125, "kill -KILL $$": 137, "kill -TERM $$": 143,
			"sleep 1000 & exit 3": 3, "trap 'exit 9' TERM; kill -TERM $$; sleep 1": 9,
		} {
			if out, code := w.sh(t, script); code != want {
				t.Errorf("%s: %d %s", script, code, out)
			}
		}
		a, err := w.b.Lease("")
		must(t, err)
		defer func() { must(t, a.Close()) }()
		for path, want := range map[string]error{"/none": fs.ErrNotExist, "/etc/passwd": fs.ErrPermission} {
			p, _, s := w.startIn(t, boundary.Command{Path: path, Dir: "/", Account: a, Home: w.home(t, a)})
			_, err = p.Wait()
			if failed := s.Failure(); !errors.Is(failed, want) || err != nil {
				t.Errorf("%s: %v %v", path, failed, err)
			}
			s.Close()
		}
		if _, err := w.b.Prepare(boundary.Command{Path: "/bin/true", Env: []string{"A=b\x00c"}}); err == nil {
			t.Error("a NUL in the environment is accepted")
		}
	})
}

// TestInside checks what a program finds: its own files and nothing else, and that ordinary work is possible.
func TestInside(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *fixture) {
		mounts := w.b.Status().Level == boundary.Namespaces
		out, code := w.sh(t, `set -e
			test "$(env | grep -cv '^PWD=\|^SHLVL=\|^_=')" = 1
			exec 9>&1; ls /proc/self/fd | tr '\n' ' '; echo
			echo x >file; echo "$(<file)"; mkfifo pipe; ln -s file link; rm link
			python3 -c 'import multiprocessing as m; m.Pool(1).map(abs, [1])'
			ulimit -c; grep -c . /etc/passwd >/dev/null; getent hosts localhost >/dev/null
			grep NoNewPrivs /proc/self/status; grep 'Seccomp:' /proc/self/status; grep CapEff /proc/self/status`)
		want := regexp.MustCompile(`^0 1 2 3 9 \nx\n0\nNoNewPrivs:\s1\nSeccomp:\s2\nCapEff:\s0+\n$`)
		if code != 0 || !want.MatchString(out) {
			t.Errorf("%d %s", code, out)
		}
		if mounts {
			out, code = w.sh(t, `set -e; cd /tmp; test -z "$(ls -A /tmp /var/tmp /dev/shm | grep -v :)"; echo a >a; echo b >/dev/shm/b
				id -un 2>/dev/null || true; test "$$" -lt 100; test -z "$(ls -A "$1")"; if mkdir /sys/fs/cgroup/x; then exit 1; fi
				if echo 1 >/sys/fs/cgroup/cgroup.procs; then exit 1; fi`, w.data)
			if code != 0 || os.Getuid() == 0 && !strings.HasPrefix(out, "writ-run\n") {
				t.Errorf("%d %s", code, out)
			}
			if out, code = w.sh(t, "cat /tmp/a /dev/shm/b"); code == 0 {
				t.Errorf("the next run reads %s", out)
			}
		}
	})
}

// TestHidden shows a directory below a hidden one, which hides another one, and replaces a hidden file while a run
// looks for it.
func TestHidden(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // the mounts are the same, and the files of this account are readable by permission
	}
	w := newFixture(t, boundary.Namespaces)
	closed := filepath.Join(w.dir, "closed")
	inner := filepath.Join(closed, "clone", ".writ")
	write(t, filepath.Join(closed, "beside"), 0o644)
	write(t, filepath.Join(closed, "clone", "play.yml"), 0o644)
	write(t, filepath.Join(inner, "key"), 0o644)
	must(t, os.Chmod(closed, 0o700))
	b, err := boundary.Open(boundary.Config{Mode: boundary.Required, Hide: []string{w.data, inner, "/none"},
		Show: []boundary.Path{{Name: filepath.Join(closed, "clone")}, {Name: filepath.Join(w.data, "public")}}})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	w.b = b
	write(t, filepath.Join(w.data, "public", "plugin"), 0o644)
	must(t, os.Chmod(w.data, 0o700))
	out, code := w.sh(t, `cd "$1"; find . -name runs -prune -o -type f -print | sort`, w.dir)
	if want := "./closed/clone/play.yml\n./data/public/plugin\n./program\n"; out != want {
		t.Errorf("%d %s", code, out)
	}
	ready := filepath.Join(w.data, "public", "plugin")
	a, err := b.Lease("")
	must(t, err)
	defer func() { must(t, a.Close()) }()
	home := w.home(t, a)
	p, text, s := w.startIn(t, boundary.Command{Path: "/bin/bash", Dir: "/", Account: a, Home: home,
		Args: []string{"-c", `: >"$2/begun"; while ! [ -e "$2/replaced" ]; do :; done; cat "$1/key"; ls "$1"`, "bash", inner,
			filepath.Join(home, "work")}, Env: []string{"PATH=/bin:/usr/bin"}})
	waittest.Eventually(t, 20*time.Second, "it does not begin", func() bool {
		return exists(filepath.Join(home, "work", "begun"))
	})
	must(t, os.WriteFile(ready+".new", canary(), 0o644))
	must(t, os.Rename(ready+".new", filepath.Join(inner, "key")))
	must(t, os.WriteFile(filepath.Join(home, "work", "replaced"), nil, 0o644))
	got := <-text
	_, err = p.Wait()
	must(t, errors.Join(err, s.Failure()))
	s.Close()
	if strings.Contains(got, string(canary())) || strings.HasSuffix(got, "key\n") {
		t.Errorf("a hidden file that is replaced: %s", got)
	}
}

// TestShownTwice shows a directory, and a repository below a directory in it that other accounts may not enter.
func TestShownTwice(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // the files of this account are readable by permission
	}
	w := newFixture(t, boundary.Namespaces)
	clone := filepath.Join(w.dir, "clone")
	repository := filepath.Join(clone, "closed", "site")
	write(t, filepath.Join(clone, "play.yml"), 0o644)
	write(t, filepath.Join(clone, "closed", "beside"), 0o644)
	write(t, filepath.Join(repository, "site.yml"), 0o644)
	must(t, os.Chmod(filepath.Join(clone, "closed"), 0o700))
	for _, parent := range []string{w.dir, "/none"} {
		b, err := boundary.Open(boundary.Config{Mode: boundary.Required, Hide: []string{parent},
			Show: []boundary.Path{{Name: clone}, {Name: repository}}})
		must(t, err)
		w.b = b
		out, code := w.sh(t, `cd "$1" && find . -type f -print | sort`, clone)
		if want := "./closed/site/site.yml\n./play.yml\n"; out != want {
			t.Errorf("below %s: %d %s", parent, code, out)
		}
		must(t, b.Close())
	}
}

// escapes are ways to outlive a run. Each starts $1, and :>$2 tells that it lives.
func escapes() map[string]string {
	return map[string]string{
		"a child":               `"$1" "$2" &`,
		"a session":             `setsid "$1" "$2" &`,
		"a double fork":         `( ( "$1" "$2" & ) & )`,
		"without environment":   `setsid env -i "$1" "$2" >/dev/null 2>&1 </dev/null &`,
		"deaf":                  `( trap '' TERM HUP INT; setsid "$1" "$2" & )`,
		"stopped":               `setsid "$1" "$2" & p=$!; while ! [ -e "$2" ]; do :; done; kill -STOP $p`,
		"another group":         `set -m; "$1" "$2" & disown`,
		"by nohup":              `nohup "$1" "$2" >/dev/null 2>&1 &`,
		"many":                  `for i in $(seq 50); do setsid env -i "$1" "$2" & done`,
		"a chain that goes on":  `chain() { [ "$3" = 0 ] || { "$1" "$2" & ( chain "$1" "$2" $(($3-1)) & ); }; }; chain "$1" "$2" 20`,
		"that forks as it dies": `setsid bash -c 'trap "setsid $0 $1 &" TERM; : >"$1"; while :; do sleep 0.01; done' "$1" "$2" &`,
	}
}

// TestLeftovers checks that nothing of a run lives when its boundary has ended.
// Keeps T08, T45.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *fixture) {
		for name, script := range escapes() {
			program := filepath.Join(w.dir, "left-"+strconv.Itoa(len(name)))
			source := filepath.Join(t.TempDir(), "script")
			must(t, os.WriteFile(source, []byte("#!/bin/sh\n: >\"$1\"\nsleep 1000; :\n"), 0o644))
			install(t, source, program)
			if out, code := w.sh(t, script+"\n while ! [ -e \"$2\" ]; do :; done; exit 5", program, "mark"); code != 5 {
				t.Errorf("%s: %d %s", name, code, out)
			}
			if left := alive(t, w.dir); len(left) > 0 {
				t.Errorf("%s: %v", name, left)
			}
		}
	})
}

// alive lists processes below a directory or with its name in their arguments.
func alive(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	var out []string
	for _, p := range all {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		wd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.Contains(string(line), dir+"/left-") || strings.HasPrefix(wd, filepath.Join(dir, "runs")) {
			out = append(out, fmt.Sprintf("%s %q %s", p, line, wd))
		}
	}
	return out
}

// TestSignals cancels programs: one that listens, one with a child that takes its time, and one that is deaf.
func TestSignals(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *fixture) {
		for name, c := range map[string]struct {
			script string
			now    bool
			want   int
		}{
			"listens": {`trap 'exit 3' TERM; : >begun; while :; do sleep 0.01; done`, false, 3},
			"has a child": {`trap 'exit 4' TERM
				bash -c 'trap "sleep 0.1; : >../work/tidied; exit" TERM; : >begun; while :; do sleep 0.01; done' &
				wait`, false, 4},
			"is deaf": {`trap '' TERM; : >begun; sleep 1000 & while :; do sleep 0.01; done`, true, 137},
		} {
			a, err := w.b.Lease("")
			must(t, err)
			home := w.home(t, a)
			work := filepath.Join(home, "work")
			p, _, s := w.startIn(t, boundary.Command{Path: "/bin/bash", Args: []string{"-c", c.script}, Dir: work, Account: a,
				Home: home, Env: []string{"PATH=/bin:/usr/bin"}})
			waittest.Eventually(t, 20*time.Second, "it does not begin", func() bool {
				return exists(filepath.Join(work, "begun"))
			})
			must(t, p.Signal(syscall.SIGTERM))
			if c.now {
				must(t, p.Signal(boundary.EndNow))
			}
			state, err := p.Wait()
			must(t, err)
			if state.ExitCode() != c.want {
				t.Errorf("%s: %d", name, state.ExitCode())
			}
			if name == "has a child" && !exists(filepath.Join(work, "tidied")) {
				t.Error("the child had no time")
			}
			s.Close()
			must(t, a.Close())
		}
	})
}

// TestServerDies kills the process that started a boundary.
func TestServerDies(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *fixture) {
		begun := filepath.Join(w.dir, "begun")
		must(t, os.Mkdir(begun, 0o755))
		must(t, os.Chmod(begun, 0o777))
		c := &exec.Cmd{Path: w.program, Args: []string{serverName, string(w.b.Status().Level), w.dir}, Env: []string{}}
		must(t, c.Start())
		waittest.Eventually(t, 20*time.Second, "it begins", func() bool {
			return exists(filepath.Join(begun, "mark"))
		})
		if len(alive(t, w.dir)) == 0 {
			t.Error("nothing lives")
		}
		must(t, c.Process.Kill())
		_ = c.Wait()
		waittest.Eventually(t, 20*time.Second, "it lives on", func() bool { return len(alive(t, w.dir)) == 0 })
	})
}

// serverName is the name of a process that starts a run and waits for it.
const serverName = "server"

// serve is that process.
func serve(level, dir string) int {
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: boundary.Level(level)})
	if err != nil {
		return 1
	}
	w := &fixture{dir: dir, b: b}
	t := &testing.T{}
	program := filepath.Join(dir, "left-over")
	if os.WriteFile(program, []byte("#!/bin/sh\n: >\"$1\"\nsleep 1000; :\n"), 0o755) != nil {
		return 1
	}
	_, code := w.sh(t, `setsid env -i "$1" "$2" & "$1" "$2"`, program, filepath.Join(dir, "begun", "mark"))
	return code
}

// TestSharedMachine leases accounts from two pools at once: no account is used twice.
func TestSharedMachine(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // there is one account
	}
	var pools [2]*boundary.Boundary
	for i := range pools {
		b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: boundary.Users,
			Users: boundary.Range{First: 66700, Last: 66705}})
		must(t, err)
		t.Cleanup(func() { must(t, b.Close()) })
		pools[i] = b
	}
	seen := map[int]bool{}
	for i := range 6 {
		a, err := pools[i%2].Lease("")
		must(t, err)
		if seen[a.UID] || a.UID < 66700 || a.UID > 66705 {
			t.Errorf("%d is used again", a.UID)
		}
		seen[a.UID] = true
		defer func() { must(t, a.Close()) }()
	}
	if _, err := pools[0].Lease(""); err == nil || !strings.Contains(err.Error(), "--run-user") {
		t.Errorf("a seventh account of six: %v", err)
	}
}

// TestALeaseWaitsABit leases an account that is given back a moment later: a program that is just being started keeps
// the locks of its parent until it has begun.
func TestALeaseWaitsABit(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // there is one account, which all share
	}
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: boundary.Users,
		Users: boundary.Range{First: 66710, Last: 66711}})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	first, err := b.Lease("")
	must(t, err)
	second, err := b.Lease("")
	must(t, err)
	time.AfterFunc(100*time.Millisecond, func() { _ = first.Close() })
	third, err := b.Lease("")
	must(t, err)
	if third.UID != first.UID {
		t.Errorf("the account %d, want %d", third.UID, first.UID)
	}
	must(t, errors.Join(second.Close(), third.Close()))
}

// maxInits is how many packages may be initialised before the hook takes over: each costs every run.
const maxInits = 35

// TestHookIsEarly counts those packages. Without a plan the hook fails at once, with an exit code of its own.
func TestHookIsEarly(t *testing.T) {
	t.Parallel()
	c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"writ-run"}, Env: []string{"WRIT_BOUNDARY=1",
		"GODEBUG=inittrace=1"}}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("the hook did not run: %v %s", err, out)
	}
	if n := strings.Count(string(out), "\ninit ") + 1; n > maxInits {
		t.Errorf("%d packages were initialised before\n%s", n, out)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
