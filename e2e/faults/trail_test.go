package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// writ runs a command on the install of a server, with additional environment variables.
func writ(t *testing.T, o harness.Options, env []string, arg ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t, o.Tags...), arg...)
	cmd.Env = append(os.Environ(), env...)
	raw, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

// signed is a signed head that a server returned.
type signed struct {
	size int64
	root string
}

func headOf(c harness.Client) (signed, error) {
	a, err := c.Try(http.MethodGet, "/v1/audit/bundle?limit=1", nil)
	if err != nil || a.Status != http.StatusOK {
		return signed{}, fmt.Errorf("a head: %d, %w", a.Status, err)
	}
	var s signed
	_, rest, _ := strings.Cut(string(a.Body), `"checkpoint":"`)
	lines := strings.Split(rest, `\n`)
	if len(lines) < 3 {
		return s, fmt.Errorf("no head in %.200s", a.Body)
	}
	s.root = lines[2]
	_, err = fmt.Sscan(lines[1], &s.size)
	return s, err
}

// TestKilledUnderMixedLoad kills the server repeatedly while clients submit, cancel and sign in. Every acknowledged
// change is in the chain, every change in the chain was made, and the chain satisfies each head that was returned
// right before a kill.
func TestKilledUnderMixedLoad(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		h := harness.NewHistory(t)
		first := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "4", "--drain-timeout", "5s"}})
		const password = "a long enough secret"
		first.Do(http.MethodPost, "/v1/users", harness.Body{"username": "uma", "role": "viewer", "password": password})
		var now atomic.Pointer[harness.Server]
		now.Store(first)
		var clients sync.WaitGroup
		var over atomic.Bool
		loop := func(fn func(c harness.Client, n int)) {
			clients.Go(func() {
				for n := 0; !over.Load(); n++ {
					fn(now.Load().Client, n)
					<-time.After(depthtest.Of(40*time.Millisecond, time.Millisecond))
				}
			})
		}
		loop(func(c harness.Client, n int) {
			_, _, _ = h.Submit(c, h.Script("true"), "Idempotency-Key", fmt.Sprint("short", n))
		})
		loop(func(c harness.Client, n int) {
			r, _, err := h.Submit(c, h.Script("sleep 0.3"), "Idempotency-Key", fmt.Sprint("long", n))
			if err != nil || r.ID == "" {
				return
			}
			if a, err := c.Try(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil); err == nil {
				h.Record(a)
			}
		})
		loop(func(c harness.Client, _ int) {
			if a, err := c.As("").Try(http.MethodPost, "/v1/auth/login",
				harness.Body{"username": "uma", "password": password}); err == nil {
				h.Record(a)
			}
			<-time.After(depthtest.Of(200*time.Millisecond, 20*time.Millisecond))
		})
		var heads []signed
		for range depthtest.Of(2, 4) {
			s, before := now.Load(), len(h.Acked())
			harness.Eventually(t, time.Minute, "two more runs are acknowledged", func() bool {
				return len(h.Acked()) >= before+2
			})
			<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
			head, err := headOf(s.Client)
			if err != nil {
				t.Error(err)
			}
			heads = append(heads, head)
			s.Kill()
			now.Store(s.Again())
		}
		over.Store(true)
		clients.Wait()
		s := now.Load()
		h.Check(s.Client)
		file := filepath.Join(t.TempDir(), "bundle.json")
		if err := os.WriteFile(file, s.Do(http.MethodGet, "/v1/audit/bundle", nil).Body, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, head := range heads {
			if out, code := writ(t, s.Options, nil, "audit", "verify", file, "--from",
				fmt.Sprintf("%d:%s", head.size, head.root)); code != 3 {
				t.Errorf("the head %+v, which was handed out: exit code %d\n%s", head, code, out)
			}
		}
	})
}

// TestNoDiskSpaceForTheHead fills the disk of the data directory. The trail continues, the server reports the error,
// and with free space it updates the head file.
func TestNoDiskSpaceForTheHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	smallDisk(t, data, "1m")
	if err := os.Chmod(data, 0o700); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Dir: dir, Flags: []string{"--executors", "0"}})
	full := ballast(t, data, 0)
	h := harness.NewHistory(t)
	change := func(name string) {
		a := s.Do(http.MethodPost, "/v1/teams", harness.Body{"name": name})
		if h.Record(a); a.Status != http.StatusCreated {
			t.Errorf("a change without room for the head: %d %s", a.Status, a.Body)
		}
	}
	change("before")
	harness.Eventually(t, time.Minute, "the server says what is wrong", func() bool {
		return strings.Contains(s.Output(), `work="head file"`)
	})
	if _, err := os.Stat(filepath.Join(data, "audit.head")); err == nil {
		t.Error("a head file was written without room")
	}
	head, err := headOf(s.Client)
	if err != nil {
		t.Error(err)
	}
	change("meanwhile")
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, "the head is kept", func() bool {
		_, err := os.Stat(filepath.Join(data, "audit.head"))
		return err == nil
	})
	s.Kill()
	s = s.Again()
	h.Check(s.Client)
	if now, err := headOf(s.Client); err != nil || now.size < head.size {
		t.Errorf("the head was %+v and is %+v: %v", head, now, err)
	}
	left, err := filepath.Glob(filepath.Join(data, ".head-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestCrashOfARotation kills the command that rotates the keys before and after its commit. In both cases the running
// server and the next one continue, with the key that the install then has.
func TestCrashOfARotation(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Dir: t.TempDir(), Tags: []string{"crashpoints"},
			Flags: []string{"--executors", "0"}})
		data := filepath.Join(s.Dir, "data")
		for point, kept := range map[string]bool{"unit-before-commit": false, "unit-after-commit": true} {
			arm := filepath.Join(t.TempDir(), "arm")
			if err := os.WriteFile(arm, []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := keysOf(t, s)
			out, code := writ(t, s.Options, []string{"WRIT_CRASH_POINT=" + point, "WRIT_CRASH_ARM=" + arm}, "audit", "key",
				"rotate", "--yes", "--db", s.DB, "--data-dir", data)
			if code != -1 {
				t.Fatalf("%s: exit code %d, and it should have been killed\n%s", point, code, out)
			}
			if after := keysOf(t, s); (after != before) != kept {
				t.Errorf("%s: the keys changed: %t", point, after != before)
			}
			if _, err := headOf(s.Client); err != nil {
				t.Errorf("%s: the server beside it does not sign any more: %v", point, err)
			}
			s.Kill()
			if !kept { // the new key is stored but not registered: the former one is next to it
				if err := os.Rename(filepath.Join(data, "signing.key.previous"), filepath.Join(data, "signing.key")); err != nil {
					t.Fatal(err)
				}
			}
			s = s.Again()
			if _, err := headOf(s.Client); err != nil {
				t.Errorf("%s: the next server does not sign: %v", point, err)
			}
			s.Intact()
		}
		out, code := writ(t, s.Options, nil, "audit", "key", "rotate", "--yes", "--db", s.DB, "--data-dir", data)
		if code != 0 {
			t.Errorf("a rotation after all that: exit code %d\n%s", code, out)
		}
		if _, err := headOf(s.Client); err != nil {
			t.Error(err)
		}
	})
}

// keysOf returns the list of keys as the command prints it.
func keysOf(t *testing.T, s *harness.Server) string {
	t.Helper()
	out, code := writ(t, s.Options, nil, "audit", "key", "show", "--db", s.DB, "--data-dir", filepath.Join(s.Dir, "data"))
	if code != 0 {
		t.Fatalf("key show: %d %s", code, out)
	}
	return out
}
