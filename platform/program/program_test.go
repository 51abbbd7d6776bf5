package program_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/program"

	"github.com/writ-automation/writ/ports/waittest"
)

func TestMain(m *testing.M) {
	if os.Getenv(parent) != "" {
		_, err := program.Run(context.Background(), shell(`echo $$ >"$1"; exec sleep 1000`, os.Getenv(parent)))
		os.Stderr.WriteString(err.Error()) // it is to be killed before
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// parent is the environment variable that makes this binary a process that runs a program, which writes its number to
// that file.
const parent = "WRIT_TEST_PARENT"

// shell is a program with only a PATH.
func shell(script string, args ...string) program.Command {
	return program.Command{Path: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...),
		Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		command program.Command
		want    program.Result
	}{
		"arguments": {shell(`printf '%s|' "$@"`, "a b", "$HOME", ""), program.Result{Stdout: []byte("a b|$HOME||")}},
		"code": {shell("echo out; echo bad >&2; exit 7"),
			program.Result{Stdout: []byte("out\n"), Stderr: []byte("bad\n"), Code: 7}},
		"signal":   {shell("kill -KILL $$"), program.Result{Code: -1}},
		"no input": {shell("cat"), program.Result{}},
		"directory": {program.Command{Path: "/bin/pwd", Args: []string{"-P"}, Dir: dir},
			program.Result{Stdout: []byte(dir + "\n")}},
		"environment": {program.Command{Path: "/usr/bin/env", Env: []string{"A=b"}},
			program.Result{Stdout: []byte("A=b\n")}},
		"nothing else": {program.Command{Path: "/usr/bin/env"}, program.Result{}},
		"input": {
			program.Command{Path: "/bin/cat", Stdin: []byte("x\x00y")}, program.Result{Stdout: []byte("x\x00y")},
		},
		"input that is not read": {
			program.Command{Path: "/bin/true", Stdin: bytes.Repeat([]byte("x"), 1<<20)}, program.Result{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := program.Run(t.Context(), c.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strung(c.want), strung(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// strung converts a result to texts, in which nil and empty are equal.
func strung(r program.Result) []any { return []any{string(r.Stdout), string(r.Stderr), r.Code} }

func TestNoProgram(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	_, err := program.Run(t.Context(), program.Command{Path: missing, Args: []string{"s3cret"},
		Env: []string{"TOKEN=s3cret"}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// TestSession checks that the program leads a session and a group of its own, so that no terminal and no signal of
// this process reaches it.
func TestSession(t *testing.T) {
	t.Parallel()
	r, err := program.Run(t.Context(), shell(`read -r _ _ _ _ group session _ </proc/$$/stat; echo $$ $group $session`))
	if f := strings.Fields(string(r.Stdout)); err != nil || len(f) != 3 || f[0] != f[1] || f[0] != f[2] {
		t.Errorf("%q %v", r.Stdout, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	r, err := program.Run(t.Context(), program.Command{Path: "/usr/bin/yes"})
	if !errors.Is(err, program.ErrTooMuch) || len(r.Stdout) > program.MaxStdout {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
	r, err = program.Run(t.Context(), shell("head -c 1000000 /dev/zero >&2; echo last >&2"))
	if err != nil || len(r.Stderr) != program.MaxStderr || !bytes.HasSuffix(r.Stderr, []byte("\x00last\n")) {
		t.Errorf("%d bytes, %v", len(r.Stderr), err)
	}
}

// narrow accepts a limited number of bytes.
type narrow struct {
	taken []byte
	most  int
	over  bool
}

func (n *narrow) Write(p []byte) (int, error) {
	if len(n.taken)+len(p) > n.most {
		n.over = true
		return 0, errors.New("no more")
	}
	n.taken = append(n.taken, p...)
	return len(p), nil
}

func TestWriter(t *testing.T) {
	t.Parallel()
	out := &narrow{most: 1 << 20}
	c := shell("echo streamed")
	c.Stdout = out
	if r, err := program.Run(t.Context(), c); err != nil || r.Stdout != nil || string(out.taken) != "streamed\n" {
		t.Errorf("%q %q %v", r.Stdout, string(out.taken), err)
	}
	// The closed output ends the program, and that is its result. The writer keeps its own error.
	if r, err := program.Run(t.Context(), program.Command{Path: "/usr/bin/yes", Stdout: out}); err != nil || r.Code == 0 ||
		!out.over {
		t.Errorf("%d %v", r.Code, err)
	}
}

// TestFilesAreBounded makes a child write a file. The bound is set from outside, so that the script waits for it.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	c := shell(`while [ "$(ulimit -f)" = unlimited ]; do :; done; head -c 1000000 /dev/zero >"$1"; echo ended`,
		filepath.Join(t.TempDir(), "file"))
	c.MaxFile = 8192
	r, err := program.Run(t.Context(), c)
	if err != nil || string(r.Stdout) != "ended\n" {
		t.Errorf("%q %q %v", r.Stdout, r.Stderr, err)
	}
	if fi, err := os.Stat(c.Args[3]); err != nil || fi.Size() != c.MaxFile {
		t.Errorf("%v %v", fi.Size(), err)
	}
}

// TestContextEnds uses programs that obey SIGTERM and one that does not, each with a child that holds the output.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	cause := errors.New("the day is over")
	for name, c := range map[string]struct {
		script string
		code   int
		slow   bool
	}{
		"asked": {`trap 'echo bye; exit 3' TERM; sleep 1000 & : >"$1"; wait`, 3, false},
		"made":  {`trap '' TERM; sleep 1000 & : >"$1"; while :; do wait; done`, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			ctx, cancel := context.WithCancelCause(t.Context())
			type end struct {
				r   program.Result
				err error
			}
			done := make(chan end, 1)
			go func() { r, err := program.Run(ctx, shell(c.script, mark)); done <- end{r, err} }()
			waittest.Eventually(t, 20*time.Second, "it does not begin", func() bool { return exists(mark) })
			begin := time.Now()
			cancel(cause)
			e := <-done
			if !errors.Is(e.err, cause) || e.r.Code != c.code || c.code == 3 != (string(e.r.Stdout) == "bye\n") {
				t.Errorf("%q %d %v", e.r.Stdout, e.r.Code, e.err)
			}
			if took := time.Since(begin); c.slow && took < program.Grace {
				t.Errorf("it took %s", took)
			}
			if left := alive(t, mark); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestGroupEnds uses a program that ends and leaves a child in its group, which holds the output.
func TestGroupEnds(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	r, err := program.Run(t.Context(), shell(
		`sh -c 'trap "" TERM; : >"$0"; sleep 1000; :' "$1" & while ! [ -e "$1" ]; do :; done; exit 4`, mark))
	if err != nil || r.Code != 4 {
		t.Errorf("%d %v", r.Code, err)
	}
	waittest.Eventually(t, 20*time.Second, "its child lives on", func() bool { return len(alive(t, mark)) == 0 })
}

// TestParentIsKilled checks that the kernel ends the program of a killed process.
func TestParentIsKilled(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	p, err := os.StartProcess(os.Args[0], os.Args[:1],
		&os.ProcAttr{Env: append(os.Environ(), parent+"="+mark), Files: []*os.File{nil, nil, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 20*time.Second, "it does not begin", func() bool {
		b, err := os.ReadFile(mark)
		return err == nil && bytes.HasSuffix(b, []byte("\n"))
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 20*time.Second, "its program ends", func() bool {
		return !exists("/proc/" + strings.TrimSpace(string(b)) + "/exe")
	})
}

// TestLeftovers checks that only processes with a home below the directory are ended.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	private, beside := filepath.Join(base, "private"), filepath.Join(base, "private-too")
	for _, dir := range []string{private, beside} {
		c := shell(`setsid sh -c ': >"$0.begun"; sleep 1000; :' "$1" >/dev/null 2>&1 & while ! [ -e "$1.begun" ]; do :; done`,
			dir+"/mark")
		c.Env = append(c.Env, "HOME="+dir+"/home")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if r, err := program.Run(t.Context(), c); err != nil || r.Code != 0 {
			t.Fatalf("%q %v", r.Stderr, err)
		}
	}
	if len(alive(t, private+"/mark")) == 0 {
		t.Fatal("nothing is left to be ended")
	}
	program.EndLeftovers(private)
	waittest.Eventually(t, 20*time.Second, "it lives on", func() bool { return len(alive(t, private+"/mark")) == 0 })
	if len(alive(t, beside+"/mark")) == 0 {
		t.Error("what has its home elsewhere was ended")
	}
	program.EndLeftovers(beside)
	waittest.Eventually(t, 20*time.Second, "the other one ends", func() bool {
		return len(alive(t, beside+"/mark")) == 0
	})
}

// alive lists the numbers of processes that have the text in their command line.
func alive(t *testing.T, text string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		b, err := os.ReadFile(path)
		return err != nil || !strings.Contains(string(b), text)
	})
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
