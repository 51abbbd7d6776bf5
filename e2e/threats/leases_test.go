package threats

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestZombieServerIsRefused: a server is stopped beyond its lease while another one ends its run. When it
// resumes, its reports are refused and its processes are killed.
// Keeps F17.
func TestZombieServerIsRefused(t *testing.T) {
	t.Parallel()
	url := harness.Postgres(t)
	zombie := harness.Start(t, harness.Options{DB: url, Flags: []string{"--kill-grace", "1s"}})
	other := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}, Admin: zombie.Admin})
	gate := filepath.Join(harness.Shared(t), "go")
	r := zombie.Submit(script(fmt.Sprintf(
		"echo pid=$$\nwhile ! [ -e %s ]; do sleep 0.05; done\nwhile :; do echo late; sleep 0.05; done", gate)))
	pid := pidOf(t, other.Client, r.ID)
	zombie.Signal(syscall.SIGSTOP)
	awake := sync.OnceFunc(func() { zombie.Signal(syscall.SIGCONT) })
	t.Cleanup(awake)
	other.SetLease(r.ID, -time.Second)
	seen := other.Until(r.ID, time.Minute, harness.Run.Ended)
	if seen.Status != "interrupted" || seen.Error == "" {
		t.Fatalf("the run without a holder is %s (%q)", seen.Status, seen.Error)
	}
	if !harness.Alive(pid) {
		t.Fatal("the process of the stopped server is gone already, so nothing will be late")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awake()
	harness.Eventually(t, time.Minute, "the zombie ends what it started", func() bool {
		return !harness.Alive(pid) && len(harness.Marked(t, []string{r.ID})) == 0
	})
	oneStory(t, other.Client, r.ID)
	now := other.Get(r.ID)
	if now.Status != seen.Status || now.EventCount != seen.EventCount || now.LogBytes != seen.LogBytes ||
		strings.Contains(other.Log(r.ID), "late") {
		t.Errorf("the zombie changed the run: %+v, then %+v", seen, now)
	}
	if next := zombie.Await(zombie.Submit(script("echo fine")).ID); next.Status != "succeeded" {
		t.Errorf("afterwards a run of the server is %s (%s)", next.Status, next.Error)
	}
}

// TestTwoServersExecuteEachRunOnce is F16 with processes: two servers claim runs from one database.
// Keeps F16.
func TestTwoServersExecuteEachRunOnce(t *testing.T) {
	t.Parallel()
	url := harness.Postgres(t)
	one := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "32"}})
	two := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "32"}, Admin: one.Admin})
	starts, n := harness.SharedFile(t), depthtest.Of(100, 500)
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < n; i += 4 {
				c := []harness.Client{one.Client, two.Client}[i/4%2]
				c.Submit(script(fmt.Sprintf("echo run%d >> %s", i, starts)))
			}
		})
	}
	wg.Wait()
	harness.Eventually(t, 3*time.Minute, "every run has succeeded", func() bool {
		_, total := one.Runs("status=succeeded&limit=1")
		return total == n
	})
	checkOnce(t, starts, n)
	workers := map[string]int{}
	rows, _ := one.Runs("limit=1000")
	for _, r := range rows {
		workers[r.Worker]++
	}
	if len(workers) != 2 {
		t.Errorf("the runs were executed by %v, which is no race", workers)
	}
}

// TestCancelAgainstFinish: a cancel arrives about when the run ends. One of them wins, and all data about the
// run is consistent.
// Keeps F29.
func TestCancelAgainstFinish(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "8", "--kill-grace", "1s"}})
		var mu sync.Mutex
		outcomes := map[string]int{}
		race := func(i int) {
			r := s.Submit(script(fmt.Sprintf("sleep 0.%03d", i*7%40)))
			if i%4 > 0 { // a quarter is cancelled while it waits to be claimed
				s.Until(r.ID, time.Minute, func(r harness.Run) bool { return r.Status != "pending" })
				<-time.After(time.Duration(i*13%60) * time.Millisecond)
			}
			a := s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
			end := s.Await(r.ID)
			switch {
			case a.Status != http.StatusOK && a.Status != http.StatusConflict:
				t.Errorf("cancel: %d %s", a.Status, a.Body)
			case end.Status == "canceled" && a.Status != http.StatusOK, end.Status != "canceled" && end.Status != "succeeded":
				t.Errorf("run %s is %s (%q) after a cancel that was answered %d", r.ID, end.Status, end.Error, a.Status)
			}
			oneStory(t, s.Client, r.ID)
			mu.Lock()
			outcomes[fmt.Sprint(end.Status, " ", a.Status)]++
			mu.Unlock()
		}
		var wg sync.WaitGroup
		n := depthtest.Of(40, 200)
		for part := range 8 {
			wg.Go(func() {
				for i := part; i < n; i += 8 {
					race(i)
				}
			})
		}
		wg.Wait()
		t.Logf("outcomes: %v", outcomes)
	})
}

// TestTimeoutCancelAndKillAtOnce: a run is cancelled and its server is killed when its timeout passes. The run
// ends once, with the reason of the first of these events.
// Keeps F30.
func TestTimeoutCancelAndKillAtOnce(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "12", "--kill-grace", "1s"}})
		var ids []string
		for i := range 12 {
			b := script([]string{"trap '' TERM\n", ""}[i%2] + "while :; do sleep 0.1; done")
			b["timeout"] = 1
			ids = append(ids, s.Submit(b).ID)
		}
		s.Until(ids[0], time.Minute, func(r harness.Run) bool { return r.StartedAt != nil })
		<-time.After(900 * time.Millisecond)
		var wg sync.WaitGroup
		for i, id := range ids {
			wg.Go(func() {
				<-time.After(time.Duration(i*25) * time.Millisecond)
				_, _ = s.Try(http.MethodPost, "/v1/runs/"+id+"/cancel", nil)
			})
		}
		<-time.After(250 * time.Millisecond)
		s.Kill()
		wg.Wait()
		s = s.Again()
		got := map[string]int{}
		for _, id := range ids {
			r := s.Until(id, time.Minute, harness.Run.Ended)
			if got[r.Status]++; r.Status == "succeeded" || r.Status != "canceled" && r.Error == "" {
				t.Errorf("run %s is %s (%q)", id, r.Status, r.Error)
			}
			oneStory(t, s.Client, id)
			if left := harness.Marked(t, []string{id}); len(left) > 0 {
				t.Errorf("processes of run %s live: %v", id, left)
			}
		}
		t.Logf("ended as %v", got)
	})
}
