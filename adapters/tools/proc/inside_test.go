package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/waittest"
)

// enclosed is a run inside of a boundary.
type enclosed struct {
	runner *proc.Runner
	run    execution.Enclosure
	ctx    context.Context
	files  string
}

// eachBoundary runs a test in the levels that this account can have.
func eachBoundary(t *testing.T, test func(t *testing.T, r *proc.Runner, enter func(scope string) enclosed)) {
	t.Helper()
	levels := []boundary.Level{boundary.Namespaces, boundary.Users}
	if os.Getuid() != 0 {
		levels = []boundary.Level{boundary.Namespaces, boundary.Landlock}
	}
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level})
			if err != nil || b.Status().Level != level {
				t.Fatal(b.Status(), err)
			}
			t.Cleanup(func() { _ = b.Close() })
			r := newRunner(t, proc.Config{KillGrace: 300 * time.Millisecond, Boundary: b, Groups: cgrouptest.Groups(t),
				Limits: cgroup.Limits{Memory: 64 << 20}})
			test(t, r, func(scope string) enclosed { return enter(t, r, scope) })
		})
	}
}

// enter makes the directory of a run, in a place that other accounts may pass.
func enter(t *testing.T, r *proc.Runner, scope string) enclosed {
	t.Helper()
	e, err := r.Enter(scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	dir, err := os.MkdirTemp("", "writ-inside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	files := filepath.Join(dir, "files")
	uid, gid, own := e.Owner()
	for _, path := range []string{files, filepath.Join(files, "work"), filepath.Join(files, "tmp")} {
		err = errors.Join(err, os.Mkdir(path, 0o700))
		if path != files && own {
			err = errors.Join(err, os.Chown(path, uid, gid))
		}
	}
	if err = errors.Join(err, os.Chmod(dir, 0o711), os.Chmod(files, 0o711)); err != nil {
		t.Fatal(err)
	}
	return enclosed{r, e, e.Inside(t.Context(), files), files}
}

func (e enclosed) script(t testing.TB, ctx context.Context, text string) (string, int) {
	t.Helper()
	c, out := script(t, text)
	c.Dir = filepath.Join(e.files, "work")
	code, err := e.runner.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), code
}

func TestInside(t *testing.T) {
	t.Parallel()
	eachBoundary(t, func(t *testing.T, r *proc.Runner, enter func(string) enclosed) {
		e := enter("a")
		path, err := proc.WriteScript(e.ctx, filepath.Join(e.files, "work"), "x.sh", "echo in the script\n")
		if err != nil {
			t.Fatal(err)
		}
		out, code := e.script(t, e.ctx, `. "`+path+`"; echo bad >&2; id -u; setsid env -i sleep 1000 & exit 7`)
		lines := strings.Fields(out)
		if !strings.HasPrefix(out, "in the script\nbad\n") || code != 7 || os.Getuid() == 0 && lines[len(lines)-1] == "0" {
			t.Errorf("%d %s", code, out)
		}
		// Not even a server's own mistake starts something outside.
		c, _ := script(t, "exit 0")
		if _, err := r.Run(t.Context(), c); err == nil {
			t.Error("a command that belongs to no run is started")
		}
		c.Path, c.Dir = "/none", "/"
		if _, err := r.Run(e.ctx, c); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/none") {
			t.Errorf("a missing program: %v", err)
		}
	})
}

func TestCancelInside(t *testing.T) {
	t.Parallel()
	eachBoundary(t, func(t *testing.T, _ *proc.Runner, enter func(string) enclosed) {
		for text, want := range map[string]int{
			`trap 'exit 3' TERM; : >begun; while :; do sleep 0.01; done`:                  3,
			`trap '' TERM; : >begun; setsid sleep 1000 & while :; do sleep 0.01; done`:    137,
			`trap '' TERM; exec 0<&-; : >begun; kill -STOP $$; while :; do sleep 1; done`: 137,
		} {
			e := enter("a")
			ctx, cancel := context.WithCancel(e.ctx)
			go func() {
				defer cancel()
				waittest.Eventually(t, 10*time.Second, "it does not begin", func() bool {
					_, err := os.Stat(filepath.Join(e.files, "work", "begun"))
					return err == nil
				})
			}()
			if out, code := e.script(t, ctx, text); code != want {
				t.Errorf("%s: %d %s", text, code, out)
			}
		}
	})
}

// TestMemory ends a run with more than the limit of memory, whatever the tool says, and tells it from a killed one.
func TestMemory(t *testing.T) {
	t.Parallel()
	eachBoundary(t, func(t *testing.T, r *proc.Runner, enter func(string) enclosed) {
		const greedy = "python3 -c 'b = bytearray(400 << 20)'; "
		limited := slices.Contains(r.Isolation().Limits, "memory")
		for text, over := range map[string]bool{
			greedy + "sleep 600": true, greedy + "exit 0": true,
			"bash -c 'kill -KILL $$'": false, "kill -KILL $$": false, "echo fine": false,
		} {
			if !limited && over {
				continue
			}
			e := enter("a")
			out, code := e.script(t, e.ctx, text)
			if stated := strings.Contains(e.run.Exceeded(), "more than 64 MiB"); stated != over {
				t.Errorf("%s: %q, %d %s", text, e.run.Exceeded(), code, out)
			}
		}
	})
}

// TestCaches checks that runs of one scope share a cache and others do not.
func TestCaches(t *testing.T) {
	t.Parallel()
	eachBoundary(t, func(t *testing.T, _ *proc.Runner, enter func(string) enclosed) {
		base := filepath.Join(t.TempDir(), "caches")
		cache := func(e enclosed) string {
			dir, err := proc.InsideOf(e.ctx).Cache(base)
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
		one := enter("one")
		first := cache(one)
		if one.run.Isolation().Level == "users" {
			if dir := cache(enter("one")); strings.HasPrefix(dir, base) || dir == first {
				t.Errorf("%s and %s", first, dir)
			}
			return
		}
		if other := cache(enter("two")); other == first || filepath.Dir(first) != base {
			t.Errorf("%s and %s", first, other)
		}
		// While the account is in use, another run of the scope has another one, and an empty cache.
		again := cache(enter("one"))
		if os.Getuid() == 0 && again == first || os.Getuid() != 0 && again != first {
			t.Errorf("%s and %s", first, again)
		}
		if dir, err := (*proc.Inside)(nil).Cache(base); dir != base || err != nil {
			t.Errorf("without a boundary: %s %v", dir, err)
		}
	})
}

// TestSees names what is closed to a run, and the remedy.
func TestSees(t *testing.T) {
	t.Parallel()
	eachBoundary(t, func(t *testing.T, _ *proc.Runner, enter func(string) enclosed) {
		e := enter("a")
		closed := filepath.Join(t.TempDir(), "closed")
		if err := os.Mkdir(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		p := proc.InsideOf(e.ctx)
		if err := errors.Join(p.Sees("/etc/passwd"), p.Sees(e.files), p.Sees(filepath.Join(e.files, "work")),
			p.Sees("/no/such/file"), (*proc.Inside)(nil).Sees(closed)); err != nil {
			t.Error(err)
		}
		err := p.Sees(closed)
		if hidden := os.Getuid() == 0 || e.run.Isolation().Level == "namespaces"; hidden != (err != nil) {
			t.Errorf("%v", err)
		} else if hidden && (!strings.Contains(err.Error(), closed) || !strings.ContainsAny(err.Error(), ";")) {
			t.Errorf("%v", err)
		}
	})
}
