package bench

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// execution is a server that executes runs of `true`.
type execution struct {
	b    *testing.B
	s    *harness.Server
	none *baseline
	base *baseline
	what string
}

const executors = 32

// executed measures many runs at once and lone ones, against the least that they need.
func executed(e engine, isolation string) subject {
	sizes, what := []int{200, 2000}, e.name
	if isolation != "none" {
		sizes, what = []int{20, 200}, e.name+", default isolation"
	}
	return subject{name: "executed-" + e.name + "-" + isolation, sizes: sizes, open: func(b *testing.B) func(int) []probe {
		server, _, other := e.open(b)
		x := &execution{b: b, what: what}
		x.none, x.base = startBaseline(b, "none", ""), startBaseline(b, e.driver, other)
		x.s = harness.Start(b, harness.Options{DB: server, Tags: []string{harness.Release},
			Flags: []string{"--executors", fmt.Sprint(executors), "--isolation", isolation}})
		return func(size int) []probe {
			out := []probe{x.many(size), x.lone()}
			if isolation == "none" {
				out = append(out, lists(b, x.s, "list of 200, 16 clients, "+what))
			}
			return out
		}
	}}
}

func (x *execution) many(n int) probe {
	var rate, spawns float64
	rows := []row{{"runs, " + x.what, "us"}, {"runs, peak memory, " + x.what, "MiB"}}
	return probe{rows: rows, rounds: 3, round: func() []Round {
		var ids []string
		var ours float64
		peak := peakMemory(x.b, x.s.PID, func() {
			start := time.Now()
			ours = spent(x.b, x.s.PID, n, func() {
				ids = submitMany(x.s, n)
				drained(x.b, x.s)
			})
			rate = float64(n) / time.Since(start).Seconds()
		})
		x.complete(ids)
		start := time.Now()
		spawned := spawn(x.b, n, executors)
		spawns = float64(n) / time.Since(start).Seconds()
		return []Round{{ours, spawned + x.base.commits(x.b, executors)}, {peak, procStatus(x.b, x.none.pid, "VmRSS")}}
	}, beside: func() string { return fmt.Sprintf("%.0f/s, spawns %.0f/s", rate, spawns) }}
}

// lone submits runs one after the other. Nobody asks for their state while the processor time is taken; afterwards a
// client asks all the time until it sees the end of more of them.
func (x *execution) lone() probe {
	const n = 20
	var waits, seen []time.Duration
	return probe{rows: []row{{"lone run, " + x.what, "us"}}, rounds: 5, round: func() []Round {
		var ids []string
		ours := spent(x.b, x.s.PID, n, func() {
			for range n {
				ids = append(ids, x.s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
				<-time.After(30 * time.Millisecond)
			}
			drained(x.b, x.s)
		})
		x.complete(ids)
		for _, id := range ids {
			r := x.s.Get(id)
			waits = append(waits, r.StartedAt.Sub(r.CreatedAt))
		}
		for range n {
			start := time.Now()
			id := x.s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID
			for !x.s.Get(id).Ended() {
				<-time.After(time.Millisecond)
			}
			seen = append(seen, time.Since(start))
		}
		return []Round{{ours, spawn(x.b, 10*n, 1) + x.base.commits(x.b, 1)}}
	}, beside: func() string {
		return fmt.Sprintf("start p50 %.1f, p99 %.1f ms; end seen p50 %.1f ms", ms(quantile(waits, 0.5)),
			ms(quantile(waits, 0.99)), ms(quantile(seen, 0.5)))
	}}
}

// complete checks that each run left its events.
func (x *execution) complete(ids []string) {
	for _, id := range ids {
		if r := x.s.Get(id); r.Status != "succeeded" || r.EventCount != 2 {
			x.b.Fatalf("run %s: %s with %d events", id, r.Status, r.EventCount)
		}
	}
}

// drained waits until every run has ended.
func drained(b *testing.B, s *harness.Server) {
	b.Helper()
	harness.Eventually(b, 30*time.Minute, "every run has ended", func() bool {
		_, left := s.Runs("status=pending,running&limit=1")
		return left == 0
	})
}

func submitMany(s *harness.Server, n int) []string {
	ids := make([]string, n)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				ids[i] = s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID
			}
		})
	}
	wg.Wait()
	return ids
}

// commits is the processor time of three durable inserts, by which a run is claimed, begins and ends.
func (p *baseline) commits(b *testing.B, clients int) float64 {
	const n, each = 600, 3
	return each * spent(b, p.pid, n, func() { post(b, p.Client, "/", submission, clients, n) })
}

// spawn starts and reaps n processes and returns the processor time that each takes this process.
func spawn(b *testing.B, n, parallel int) float64 {
	return spent(b, os.Getpid(), n, func() {
		var wg sync.WaitGroup
		for w := range parallel {
			wg.Go(func() {
				for i := w; i < n; i += parallel {
					if err := exec.Command("bash", "-c", "true").Run(); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// afterKill kills a server that executes runs, with twice as many in its queue, and measures the next one until the
// queue is empty, against an empty server's start and the least that each of these runs needs.
func afterKill() subject {
	return subject{name: "after-kill", sizes: []int{2, 20}, open: func(b *testing.B) func(int) []probe {
		return func(size int) []probe {
			s := harness.Start(b, harness.Options{Tags: []string{harness.Release},
				Flags: []string{"--executors", fmt.Sprint(size), "--isolation", "none"}})
			e := sqlite()
			_, _, other := e.open(b)
			base := startBaseline(b, e.driver, other)
			var took []time.Duration
			return []probe{{rows: []row{{"queue empty after kill -9", "us"}}, rounds: 3, round: func() []Round {
				for range size {
					s.Submit(harness.Body{"tool": "bash", "command": "sleep 600"})
				}
				harness.Eventually(b, time.Minute, "all executors are busy", func() bool {
					_, n := s.Runs("status=running&limit=1")
					return n == size
				})
				submitMany(s, 2*size)
				s.Kill()
				start := time.Now()
				s = s.Again()
				drained(b, s)
				took = append(took, time.Since(start))
				ours := micro(processorTime(b, s.PID), 3*size)
				return []Round{{ours, emptyStart(b)/float64(3*size) + spawn(b, 200, size) + base.commits(b, size)}}
			}, beside: func() string { return fmt.Sprintf("p50 %.0f ms", ms(quantile(took, 0.5))) }}}
		}
	}}
}

// playbooks measures the server while it executes a playbook, against what ansible-playbook takes itself.
func playbooks() subject {
	return subject{name: "playbook", sizes: []int{10, 100}, open: func(b *testing.B) func(int) []probe {
		s := harness.Start(b, harness.Options{Tags: []string{harness.Release}, Flags: []string{"--isolation", "none"}})
		return func(size int) []probe { return []probe{playbook(b, s, size)} }
	}}
}

func playbook(b *testing.B, s *harness.Server, n int) probe {
	dir := harness.Shared(b)
	play, inv := filepath.Join(dir, "play.yml"), filepath.Join(dir, "hosts.ini")
	must(b, os.WriteFile(play, []byte("- hosts: all\n  gather_facts: false\n  tasks:\n"+
		strings.Repeat("    - ansible.builtin.debug: {msg: hello}\n", 5)), 0o644)) //nolint:gosec // for runs
	must(b, os.WriteFile(inv, []byte(hosts(n)), 0o644)) //nolint:gosec // for runs
	var ours, plain time.Duration
	return probe{rows: []row{{"playbook, each host", "us"}}, rounds: 2, round: func() []Round {
		start := time.Now()
		cpu := spent(b, s.PID, n, func() {
			id := s.Do(http.MethodPost, "/v1/runs", harness.Body{"playbook": play, "inventory": inv, "forks": 5})
			var r harness.Run
			id.JSON(b, &r)
			for r = s.Get(r.ID); !r.Ended(); r = s.Get(r.ID) { // rarely: asking costs the server time too
				<-time.After(250 * time.Millisecond)
			}
			if r.Status != "succeeded" || *r.HostsTouched != n {
				b.Fatalf("%s touched %d", r.Status, *r.HostsTouched)
			}
		})
		ours, start = time.Since(start), time.Now()
		before := ofChildren(b)
		if out, err := exec.Command("/usr/bin/ansible-playbook", "--forks=5", "-i", inv, play).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		plain = time.Since(start)
		return []Round{{cpu, micro(ofChildren(b)-before, n)}}
	}, beside: func() string { return fmt.Sprintf("%.1f s, plain %.1f s", ours.Seconds(), plain.Seconds()) }}
}
