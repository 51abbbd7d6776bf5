package relay

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestKilledWorker kills a worker. Its runs are interrupted, at once if it restarts, and never executed again. Their
// output is stored, and waiting runs are executed.
// Keeps F04.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		for _, how := range []string{"relay", "database"} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, fresh(t, dbURL))
				o := harness.WorkerOptions{Server: w.URL, Flags: []string{"--executors", "3"}}
				if how == "database" {
					o = harness.WorkerOptions{DB: w.DB, Flags: append(w.keys(), "--executors", "3")}
				}
				relay := harness.StartWorker(t, o)
				h := harness.NewHistory(t)
				var running []harness.Run
				for range 3 {
					r, _, err := h.Submit(w.Client, h.Script("(setsid sleep 300 &) \n echo up; sleep 300"))
					if err != nil {
						t.Fatal(err)
					}
					running = append(running, r)
				}
				for _, r := range running {
					w.running(r.ID, "up")
				}
				for range 5 {
					_, _, _ = h.Submit(w.Client, h.Script("echo later"))
				}
				relay.Kill()
				ends := w.leaseEnds(running[0].ID)
				relay = relay.Again()
				for _, r := range running {
					got := w.Until(r.ID, time.Minute, harness.Run.Ended)
					if got.EndedAt == nil || !got.EndedAt.Before(ends) {
						t.Errorf("it ended at %v, and its lease at %v", got.EndedAt, ends)
					}
					if got.Status != "interrupted" || got.Error == "" || w.Log(r.ID) != "up\n" {
						t.Errorf("%s (%q) with %q", got.Status, got.Error, w.Log(r.ID))
					}
				}
				h.Check(w.Client)
				if code := relay.Stop(); code != 0 {
					t.Errorf("the worker ended with %d\n%s", code, relay.Output())
				}
				if fleet := w.fleet(); len(fleet) != 1 {
					t.Errorf("the fleet is %v", fleet)
				}
			})
		}
	})
}

// fresh returns the address of another empty database of the same engine.
func fresh(t *testing.T, dbURL string) string {
	t.Helper()
	if dbURL == "" {
		return ""
	}
	return harness.Postgres(t)
}

// TestServerAway stops and kills the server while a worker executes: the run continues, and is reported completely
// when the server is back.
func TestServerAway(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		w.worker()
		h := harness.NewHistory(t)
		for _, how := range []string{"stopped", "killed"} {
			r, _, err := h.Submit(w.Client, h.Script("for i in $(seq 40); do echo line $i; sleep 0.1; done"))
			if err != nil {
				t.Fatal(err)
			}
			w.running(r.ID, "line 5\n")
			if how == "killed" {
				w.Kill()
			} else {
				w.Stop()
			}
			w = w.again()
			got := w.Await(r.ID)
			if got.Status != "succeeded" || strings.Count(w.Log(r.ID), "\n") != 40 {
				t.Errorf("%s: %s (%s), %d lines", how, got.Status, got.Error, strings.Count(w.Log(r.ID), "\n"))
			}
		}
		h.Check(w.Client)
	})
}

// TestLogCap checks that at most the cap and one chunk of output is stored, with one warning, also if the server
// restarts during the run, and if both server and worker drop output.
func TestLogCap(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		const limit, chunk = 64 << 10, 256 << 10
		w := newFixture(t, dbURL, "--log-cap", strconv.Itoa(limit))
		w.worker("--log-cap", strconv.Itoa(limit))
		id := w.Submit(harness.Body{"tool": "bash", "command": "seq 1 200000; echo half; sleep 1; seq 200001 600000"}).ID
		harness.Eventually(t, time.Minute, "the run has printed", func() bool { return w.Get(id).LogBytes > limit })
		w.Kill()
		w = w.again()
		r := w.Await(id)
		a := w.Do(http.MethodGet, "/v1/runs/"+id+"/logs", nil)
		if r.Status != "succeeded" || r.WarnedTimes("log_truncated") != 1 || len(a.Body) > limit+chunk {
			t.Errorf("%s (%s), warnings %v, %d bytes of log", r.Status, r.Error, r.Warnings, len(a.Body))
		}
		if log := string(a.Body); !strings.HasPrefix(log, "1\n2\n") || !strings.HasSuffix(log, "\n600000\n") {
			t.Errorf("the log has lost its ends: %.20q", log)
		}
	})
}

// linked starts a worker whose connection to the server can break.
func (w *fixture) linked(flags ...string) (*harness.Worker, *harness.Link) {
	w.t.Helper()
	link := harness.NewLink(w.t, strings.TrimPrefix(w.URL, "http://"))
	return harness.StartWorker(w.t, harness.WorkerOptions{Server: "http://" + link.Addr(), Flags: flags}), link
}

// TestPartitions breaks the connection in each direction for less than a lease and for longer. For less than a lease
// nothing is lost and nothing is reported twice. For longer, the worker ends the run itself before the run could be
// started again, and the run is interrupted.
// Keeps F18.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string][2]bool{"both": {false, false}, "there": {false, true}, "back": {true, false}} {
		t.Run(name+"/short", func(t *testing.T) { t.Parallel(); shortBreak(t, dir) })
		t.Run(name+"/long", func(t *testing.T) { t.Parallel(); longBreak(t, dir) })
	}
}

func shortBreak(t *testing.T, dir [2]bool) {
	t.Helper()
	w := newFixture(t, "")
	_, link := w.linked("--kill-grace", "1s")
	h := harness.NewHistory(t)
	lines, pause := depthtest.Of(60, 150), depthtest.Of(4*time.Second, 7*time.Second)
	r, _, err := h.Submit(w.Client, h.Script(fmt.Sprintf("for i in $(seq %d); do echo line $i; sleep 0.1; done", lines)))
	if err != nil {
		t.Fatal(err)
	}
	w.running(r.ID, "line 5\n")
	link.Pass(dir[0], dir[1])
	<-time.After(pause)
	link.Pass(true, true)
	last := fmt.Sprintf("line %d\n", lines)
	r = w.Await(r.ID)
	if log := w.Log(r.ID); r.Status != "succeeded" || strings.Count(log, "\n") != lines || strings.Count(log, last) != 1 {
		t.Errorf("after a short break: %s (%s), %d lines", r.Status, r.Error, strings.Count(log, "\n"))
	}
	h.Check(w.Client)
}

func longBreak(t *testing.T, dir [2]bool) {
	t.Helper()
	w := newFixture(t, "")
	_, link := w.linked("--kill-grace", "1s")
	h := harness.NewHistory(t)
	r, _, err := h.Submit(w.Client, h.Script("echo pid=$$; (setsid sleep 600 &) \n sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	w.running(r.ID, "pid=")
	pid := harness.PIDs(t, r.ID, w.Log(r.ID), "pid=")[0]
	link.Pass(dir[0], dir[1])
	harness.Eventually(t, 2*time.Minute, "the worker ends the run that it may have lost", func() bool {
		return !harness.Alive(pid)
	})
	<-time.After(time.Until(w.leaseEnds(r.ID)))
	if r := w.Until(r.ID, time.Minute, harness.Run.Ended); r.Status != "interrupted" {
		t.Errorf("after a long break: %s (%s)", r.Status, r.Error)
	}
	link.Pass(true, true)
	after, _, err := h.Submit(w.Client, h.Script("echo again"))
	if err != nil {
		t.Fatal(err)
	}
	if r := w.Await(after.ID); r.Status != "succeeded" {
		t.Errorf("the worker works no more: %s (%s)", r.Status, r.Error)
	}
	h.Check(w.Client)
}

// TestAZombieWritesNothing stops a worker for longer than its lease and resumes it.
// Keeps F17.
func TestAZombieWritesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	relay := w.worker("--kill-grace", "1s")
	h := harness.NewHistory(t)
	r, _, err := h.Submit(w.Client, h.Script("echo pid=$$; for i in $(seq 6000); do echo line; sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}
	w.running(r.ID, "line")
	pid := harness.PIDs(t, r.ID, strings.SplitN(w.Log(r.ID), "line", 2)[0], "pid=")[0]
	relay.Signal(syscall.SIGSTOP)
	<-time.After(time.Until(w.leaseEnds(r.ID)))
	got := w.Until(r.ID, 90*time.Second, harness.Run.Ended)
	before := w.Log(r.ID)
	relay.Signal(syscall.SIGCONT)
	harness.Eventually(t, 60*time.Second, "the zombie ends what it lost", func() bool { return !harness.Alive(pid) })
	if got.Status != "interrupted" || w.Log(r.ID) != before || w.Get(r.ID).Status != "interrupted" {
		t.Errorf("%s, and %d bytes became %d", got.Status, len(before), len(w.Log(r.ID)))
	}
	h.Check(w.Client)
}

// TestASlowLink checks that a delay of half a second in each direction loses no lease and no output.
// Keeps F19.
func TestASlowLink(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	_, link := w.linked("--executors", "4")
	link.Delay(300 * time.Millisecond)
	h := harness.NewHistory(t)
	for range depthtest.Of(5, 8) {
		if _, _, err := h.Submit(w.Client, h.Script("for i in $(seq 40); do echo line $i; sleep 0.1; done")); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range h.Check(w.Client) {
		if r.Status != "succeeded" || strings.Count(w.Log(r.ID), "\n") != 40 {
			t.Errorf("%s (%s), %d lines", r.Status, r.Error, strings.Count(w.Log(r.ID), "\n"))
		}
	}
}

// TestStorm combines all faults, in an order that the seed in the log reproduces: workers of both kinds are killed,
// stopped and started, links break, the server is killed. Every acknowledged run ends once, and none is executed
// twice.
func TestStorm(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's dice
		w := newFixture(t, dbURL)
		var links []*harness.Link
		workers := []*harness.Worker{harness.StartWorker(t,
			harness.WorkerOptions{DB: w.DB, Flags: append(w.keys(), "--executors", "2")})}
		for range 2 {
			one, link := w.linked("--executors", "3", "--kill-grace", "1s")
			workers, links = append(workers, one), append(links, link)
		}
		h := harness.NewHistory(t)
		stop := make(chan struct{})
		var submits sync.WaitGroup
		client := w.Client
		submits.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(depthtest.Of(300*time.Millisecond, 150*time.Millisecond)):
				}
				_, _, _ = h.Submit(client, h.Script(fmt.Sprintf("for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done; exit %d", i%3)),
					"Idempotency-Key", fmt.Sprint("s", i))
			}
		})
		for range depthtest.Of(5, 12) {
			<-time.After(time.Duration(500+dice.IntN(1000)) * time.Millisecond)
			switch i := dice.IntN(len(workers)); dice.IntN(5) {
			case 0:
				workers[i].Kill()
				workers[i] = workers[i].Again()
			case 1:
				links[dice.IntN(len(links))].Reset()
			case 2:
				link := links[dice.IntN(len(links))]
				link.Pass(dice.IntN(2) == 0, false)
				<-time.After(2 * time.Second)
				link.Pass(true, true)
			case 3:
				w.Kill()
				w = w.again()
			case 4:
				workers[i].Signal(syscall.SIGSTOP)
				<-time.After(time.Second)
				workers[i].Signal(syscall.SIGCONT)
			}
		}
		close(stop)
		submits.Wait()
		ended := map[string]int{}
		for _, r := range h.Check(w.Client) {
			ended[r.Status]++
			if r.Status == "succeeded" && h.Starts(r.ID) != 1 {
				t.Errorf("run %s succeeded and started %d times", r.ID, h.Starts(r.ID))
			}
		}
		t.Logf("the runs ended %v", ended)
	})
}
