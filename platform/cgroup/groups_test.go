package cgroup_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
	"github.com/writ-automation/writ/ports/waittest"
)

const limit = 64 << 20

// greedy uses more than the limit.
const greedy = `python3 -c 'b = bytearray(400 << 20)'; `

// in runs a shell in a group and returns its output and how it ended.
func in(t *testing.T, x *cgroup.Group, text string) (string, *os.ProcessState) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", text)
	out := new(strings.Builder)
	cmd.Stdout, cmd.SysProcAttr = out, &syscall.SysProcAttr{Setsid: true}
	if err := x.Start(cmd.SysProcAttr, cmd.Start); err != nil {
		t.Error(err)
		return "", nil
	}
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState
}

// take takes a group with the limit. It returns nil where there are none, which the groups have to say.
func take(t *testing.T, g *cgroup.Groups) *cgroup.Group {
	t.Helper()
	x, err := g.Take(cgroup.Limits{Memory: limit})
	if err != nil {
		t.Fatal(err)
	}
	if limited := x != nil && x.Limits().Memory > 0; limited != (g.Unlimited() == nil) {
		t.Fatalf("limited: %v, although %v", limited, g.Unlimited())
	}
	if g.Unlimited() != nil {
		if x != nil {
			g.Return(x)
		}
		return nil
	}
	return x
}

// TestMemoryLimit ends a group that is over its limit, and tells that from a process that was killed.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	g := cgrouptest.Groups(t)
	for text, over := range map[string]bool{
		greedy + "sleep 600": true, greedy + "echo survived": true,
		"sh -c 'kill -KILL $$'; echo survived": false, "kill -KILL $$": false, "echo survived": false,
	} {
		x := take(t, g)
		if x == nil {
			return
		}
		out, state := in(t, x, text)
		if got := g.Return(x); got != over {
			t.Errorf("%s: over the limit %v, %q, %v", text, got, out, state)
		}
		status, _ := state.Sys().(syscall.WaitStatus)
		if strings.Contains(text, "600") && status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v", text, state)
		}
	}
}

// TestStartsAtOnce starts processes from several threads: each begins in its own group, and the threads are back where
// they were.
func TestStartsAtOnce(t *testing.T) {
	t.Parallel()
	g := cgrouptest.Groups(t)
	if x := take(t, g); x == nil {
		return
	} else if g.Return(x) {
		t.Error("an empty group is over its limit")
	}
	var mu sync.Mutex
	met := map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			x, err := g.Take(cgroup.Limits{Memory: limit})
			if err != nil {
				t.Error(err)
				return
			}
			defer g.Return(x)
			out, _ := in(t, x, "cat /proc/self/cgroup")
			for line := range strings.Lines(out) {
				if strings.Contains(line, "/run-") {
					mu.Lock()
					met[line] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if len(met) != 20 {
		t.Errorf("%d groups: %v", len(met), met)
	}
	threads, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range threads {
		waittest.Eventually(t, time.Minute, "a thread leaves the group of a run: "+file, func() bool {
			b, _ := os.ReadFile(file)
			return !strings.Contains(string(b), "/run-")
		})
	}
}

// TestOnThread calls functions from many goroutines, of which one may have the main thread.
func TestOnThread(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			cgroup.OnThread(func() {
				if syscall.Gettid() == os.Getpid() {
					t.Error("a function has the main thread")
				}
			})
		})
	}
	all.Wait()
}

// TestReturnEndsWhatIsLeft takes back a group with a process, and leaves no directory.
func TestReturnEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	g := cgrouptest.Groups(t)
	x := take(t, g)
	if x == nil {
		return
	}
	in(t, x, "setsid sh -c 'trap \"\" TERM; sleep 600; :' >/dev/null & echo")
	pids := x.PIDs()
	if len(pids) == 0 || !x.Populated() {
		t.Fatal("the group is empty")
	}
	x.Kill()
	if g.Return(x) {
		t.Error("a process that was killed counts as one over the limit of memory")
	}
	for _, pid := range pids {
		if dir, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup"); err == nil && strings.Contains(string(dir),
			"/run-") {
			t.Errorf("%d is left in %s", pid, dir)
		}
	}
	g.Close()
	if x, err := g.Take(cgroup.Limits{Memory: limit}); x != nil || err != nil {
		t.Errorf("after the end: %v %v", x, err)
	}
}

// TestLeftovers removes the groups of a server that was killed, those with processes when these have ended.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	root := cgrouptest.Dir(t)
	if _, err := os.Stat(filepath.Join(root, "memory.limit_in_bytes")); root == "" || err != nil {
		return // no groups of version 1, whose removal is the same
	}
	const ended = 1 << 30 // no process has this id
	of := func(pid int, run string) string {
		return filepath.Join(root, "writ-"+strconv.Itoa(pid)+"-1", run)
	}
	stale, own := of(ended, "run-1"), of(os.Getpid(), "run-1")
	held := of(ended, "run-2")
	for _, dir := range []string{stale, own, held} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sleeper := exec.Command("/bin/sh", "-c", "echo $$ >"+held+"/cgroup.procs && echo in && exec sleep 600")
	out, err := sleeper.StdoutPipe()
	if err = errors.Join(err, sleeper.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	exists := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	g := cgroup.Open(root)
	if exists(stale) || !exists(own) || !exists(held) {
		t.Errorf("left are: stale %v, of a living server %v, with a process %v", exists(stale), exists(own), exists(held))
	}
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()
	waittest.Eventually(t, time.Minute, "the groups are removed", func() bool {
		g.Close()
		return !exists(filepath.Dir(held))
	})
	if err := errors.Join(os.Remove(own), os.Remove(filepath.Dir(own))); err != nil {
		t.Error(err)
	}
}
