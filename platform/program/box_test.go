package program_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
	"github.com/writ-automation/writ/platform/program"
)

// boxed calls a test for each level that works here, with a box whose homes are in a hidden directory.
func boxed(t *testing.T, test func(t *testing.T, b *program.Box, hidden string)) {
	t.Helper()
	boxedIn(t, nil, test)
}

// boxedIn is boxed with a limit of memory of 64 MiB as far as the groups have limits.
func boxedIn(t *testing.T, g *cgroup.Groups, test func(t *testing.T, b *program.Box, hidden string)) {
	t.Helper()
	for _, level := range []boundary.Level{boundary.Namespaces, boundary.Users, boundary.Landlock} {
		if own := os.Geteuid() == 0; level == boundary.Users && !own || level == boundary.Landlock && own {
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			base := "/var/lib"
			if os.Geteuid() != 0 {
				base = os.TempDir()
			}
			hidden, err := os.MkdirTemp(base, "writ-box-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if left, err := filepath.Glob(filepath.Join(hidden, "box-*")); err != nil || len(left) > 0 {
					t.Errorf("%v is left: %v", left, err)
				}
				_ = program.Remove(hidden)
			})
			if err := os.Chmod(hidden, 0o711); err != nil {
				t.Fatal(err)
			}
			b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level, Hide: []string{hidden}, Groups: g,
				Memory: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			if got := b.Status(); got.Level != level {
				t.Fatalf("%s: %s", level, got.Reason)
			}
			box, err := program.Enter(b, "a test", hidden)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = box.Close() })
			test(t, box, hidden)
		})
	}
}

// in is a shell in a box, with the arguments as $1 and up.
func in(b *program.Box, script string, args ...string) program.Command {
	c := shell(script, args...)
	c.Box, c.Dir = b, "/"
	return c
}

func TestBox(t *testing.T) {
	t.Parallel()
	boxed(t, func(t *testing.T, b *program.Box, hidden string) {
		work := filepath.Join(hidden, "work")
		key := filepath.Join(hidden, "key")
		if err := errors.Join(os.Mkdir(work, 0o700), os.WriteFile(key, []byte("canary"), 0o600), b.Give(work)); err != nil {
			t.Fatal(err)
		}
		if !b.Owns(work) {
			t.Error("the box does not own what it was given")
		}
		c := in(b, `cat; echo "$0 $A" >"$1/out"; cat "$2" 2>/dev/null; pwd; id -u; exit 3`, work, key)
		c.Stdin, c.Show, c.Dir = []byte("input\n"), []boundary.Path{{Name: work, Write: true}}, work
		c.Env = append(c.Env, "A=a", "A=b")
		r, err := program.Run(t.Context(), c)
		if err != nil || r.Code != 3 {
			t.Fatal(r, err)
		}
		lines := strings.Fields(string(r.Stdout))
		if len(lines) != 3 || lines[0] != "input" || lines[1] != work || (lines[2] == "0") {
			t.Errorf("%q", r.Stdout)
		}
		if os.Geteuid() == 0 == (lines[2] == strconv.Itoa(os.Getuid())) {
			t.Errorf("the account is %s", lines[2])
		}
		if err := b.Take(work); err != nil {
			t.Fatal(err)
		}
		if out, err := os.ReadFile(filepath.Join(work, "out")); err != nil || string(out) != "sh b\n" {
			t.Errorf("%q %v", out, err)
		}
		missing := in(b, "")
		missing.Path = "/usr/bin/no-such-program"
		if r, err := program.Run(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
			t.Error(r, err)
		}
	})
}

// TestBoxMemory ends a program with more than the limit of memory, and tells it from one that was killed.
func TestBoxMemory(t *testing.T) {
	t.Parallel()
	g := cgrouptest.Groups(t)
	boxedIn(t, g, func(t *testing.T, b *program.Box, _ string) {
		for _, rest := range []string{"sleep 600", "echo survived"} {
			if g.Unlimited() != nil {
				break
			}
			_, err := program.Run(t.Context(), in(b, "python3 -c 'b = bytearray(400 << 20)'; "+rest))
			if over := new(program.MemoryError); !errors.As(err, &over) || over.Limit != 64<<20 {
				t.Error(err)
			}
		}
		if r, err := program.Run(t.Context(), in(b, "kill -KILL $$")); err != nil || r.Code != 128+9 {
			t.Error(r, err)
		}
		if r, err := program.Run(t.Context(), in(b, "sh -c 'kill -KILL $$'; echo fine")); err != nil || r.Code != 0 {
			t.Error(r, err)
		}
	})
}

// TestBoxEnds starts processes that leave their group and session, and cancels a program that ignores that.
func TestBoxEnds(t *testing.T) {
	t.Parallel()
	boxed(t, func(t *testing.T, b *program.Box, hidden string) {
		mark := "mark-" + filepath.Base(hidden)
		leaves := `for i in 1 2 3; do setsid env -i /bin/sh -c 'trap "" TERM; (sleep 1000; :) & sleep 1000; :' ` + mark +
			` >/dev/null 2>&1 & done; `
		if r, err := program.Run(t.Context(), in(b, leaves+"sleep 0.1")); err != nil || r.Code != 0 {
			t.Fatal(r, err)
		}
		if left := alive(t, mark); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := program.Run(ctx, in(b, leaves+"trap '' TERM; while :; do sleep 1000; done")); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Error(err)
		}
		if left := alive(t, mark); len(left) != 0 {
			t.Errorf("%v is left after a cancel", left)
		}
	})
}
