package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestKillServer kills a server with running and queued runs, and starts it again: the running ones are interrupted
// within seconds, their processes have ended, the queued ones are executed, and none is executed twice.
// Keeps F04.
func TestKillServer(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", strconv.Itoa(depthtest.Of(6, 20))}})
		starts := harness.SharedFile(t)
		script := func(i int, then string) harness.Body {
			return harness.Body{"tool": "bash", "command": fmt.Sprintf("echo run%d >> %s\n%s", i, starts, then)}
		}
		var running, queued []string
		under, waiting := depthtest.Of(6, 20), depthtest.Of(20, 100)
		for i := range under {
			running = append(running, s.Submit(script(i, "(setsid sleep 300 &) \n echo pid=$$; sleep 300")).ID)
		}
		tree := map[string][]int{}
		for _, id := range running {
			harness.Eventually(t, 60*time.Second, "run "+id+" runs", func() bool {
				tree[id] = harness.PIDs(t, id, s.Log(id), "pid=")
				return len(tree[id]) == 1
			})
		}
		for i := range waiting {
			queued = append(queued, s.Submit(script(100+i, "true")).ID)
		}
		s.Kill()
		s = s.Again()
		ready := time.Now()
		for _, id := range running {
			r := s.Until(id, time.Minute, harness.Run.Ended)
			if r.Status != "interrupted" || r.Error == "" {
				t.Errorf("run %s is %s (%q) after the kill", id, r.Status, r.Error)
			}
			for _, p := range tree[id] {
				if harness.Alive(p) {
					t.Errorf("process %d of run %s outlived the server", p, id)
				}
			}
		}
		t.Logf("the truth was told %s after the server was ready", time.Since(ready))
		for _, id := range queued {
			if r := s.Until(id, 2*time.Minute, harness.Run.Ended); r.Status != "succeeded" {
				t.Errorf("queued run %s is %s (%q)", id, r.Status, r.Error)
			}
		}
		harness.CheckOnce(t, starts, under+waiting)
		if left := harness.Marked(t, running); len(left) > 0 {
			t.Errorf("orphans live: %v", left)
		}
	})
}

// TestDrain stops a server with SIGTERM: a short run ends by itself, a long one is interrupted with a reason, and a
// queued one waits for the next server.
// Keeps F31.
func TestDrain(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL,
			Flags: []string{"--executors", "2", "--drain-timeout", "3s", "--kill-grace", "1s"}})
		long := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 300"})
		short := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 1; echo done"})
		for _, r := range []harness.Run{long, short} {
			harness.Eventually(t, 30*time.Second, "it runs", func() bool { return strings.Contains(s.Log(r.ID), "up") })
		}
		queued := s.Submit(harness.Body{"tool": "bash", "command": "echo later"})
		if code := s.Stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, s.Output())
		}
		s = s.Again()
		if r := s.Await(short.ID); r.Status != "succeeded" || !strings.Contains(s.Log(r.ID), "done") {
			t.Errorf("the short run: %s (%s)", r.Status, r.Error)
		}
		if r := s.Await(long.ID); r.Status != "interrupted" || r.Error == "" {
			t.Errorf("the long run: %s (%q)", r.Status, r.Error)
		}
		if r := s.Await(queued.ID); r.Status != "succeeded" {
			t.Errorf("the queued run: %s (%s)", r.Status, r.Error)
		}
	})
}

// TestSecondSignal ends a draining server at once.
// Keeps F31.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--drain-timeout", "5m"}})
	r := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 300"})
	harness.Eventually(t, 30*time.Second, "it runs", func() bool { return strings.Contains(s.Log(r.ID), "up") })
	s.Signal(syscall.SIGTERM)
	<-time.After(300 * time.Millisecond)
	s.Signal(syscall.SIGTERM)
	s.Wait(30 * time.Second)
	s = s.Again()
	if r = s.Await(r.ID); r.Status != "interrupted" {
		t.Errorf("the run is %s", r.Status)
	}
	if left := harness.Marked(t, []string{r.ID}); len(left) > 0 {
		t.Errorf("orphans live: %v", left)
	}
}
