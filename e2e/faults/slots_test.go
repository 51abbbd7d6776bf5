package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// atOnce returns how many of the runs were executed at one moment, by their records.
func atOnce(list []harness.Run) int {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, r := range list {
		if r.StartedAt != nil && r.EndedAt != nil {
			edges = append(edges, edge{*r.StartedAt, 1}, edge{*r.EndedAt, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.by - b.by // an end comes before a start at the same moment
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// TestSlotsSurviveKills kills the server repeatedly while runs wait for the two slots of their queue, a lock and a
// host. There are never more of them at a time, and all of them end: a slot is its run's, whatever happens to the
// server.
func TestSlotsSurviveKills(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		const limit = 2
		h := harness.NewHistory(t)
		first := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "6", "--drain-timeout", "5s"}})
		if a := first.Do(http.MethodPut, "/v1/queues/default", harness.Body{"max_concurrent": limit}); a.Status != 200 {
			t.Fatalf("PUT /v1/queues/default: %d %s", a.Status, a.Body)
		}
		var hosts [2]string
		for i, content := range []string{"a\nb\n", "c\na\n"} {
			var made struct{ ID string }
			first.Do(http.MethodPost, "/v1/inventories", harness.Body{"name": fmt.Sprint("hosts", i), "content": content,
				"format": "ini"}).JSON(t, &made)
			hosts[i] = made.ID
		}
		var now atomic.Pointer[harness.Server]
		now.Store(first)
		var clients sync.WaitGroup
		var over atomic.Bool
		for c := range 3 {
			clients.Go(func() {
				for n := 0; !over.Load(); n++ {
					body := h.Script("sleep 0.3")
					switch (c + n) % 3 {
					case 0:
						body["name"], body["locks"] = "locked", []string{"one"}
					case 1:
						body["name"], body["inventory_id"], body["exclusive_hosts"] = "alone", hosts[n%2], true
					}
					_, _, _ = h.Submit(now.Load().Client, body, "Idempotency-Key", fmt.Sprint(c, " ", n))
					<-time.After(depthtest.Of(150*time.Millisecond, 50*time.Millisecond))
				}
			})
		}
		killOften(t, h, &now)
		over.Store(true)
		clients.Wait()
		list := h.Check(now.Load().Client)
		if n := atOnce(list); n != limit {
			t.Errorf("%d of %d runs were executed at a time, and the queue allows %d and has enough", n, len(list), limit)
		}
		for _, name := range []string{"locked", "alone"} {
			named := slices.DeleteFunc(slices.Clone(list), func(r harness.Run) bool { return r.Name != name })
			if n := atOnce(named); n != 1 || len(named) == 0 {
				t.Errorf("%d of %d runs called %s were executed at a time", n, len(named), name)
			}
		}
		noneLeft(t, now.Load())
	})
}

// killOften kills the server and starts another one, each time after more runs were acknowledged.
func killOften(t *testing.T, h *harness.History, now *atomic.Pointer[harness.Server]) {
	t.Helper()
	for range depthtest.Of(3, 12) {
		before := len(h.Acked())
		harness.Eventually(t, time.Minute, "more runs are acknowledged", func() bool {
			return len(h.Acked()) >= before+5
		})
		<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
		s := now.Load()
		s.Kill()
		now.Store(s.Again())
	}
}

// noneLeft waits for the end of all runs, and checks that no slot is left of one. A client does not know of the run
// whose answer was lost with the server.
func noneLeft(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.Eventually(t, time.Minute, "every run ends", func() bool {
		_, open := s.Runs("status=pending,running&limit=1")
		return open == 0
	})
	if left := s.Column("SELECT key FROM run_slots"); len(left) > 0 {
		t.Errorf("%d slots are left of ended runs", len(left))
	}
}

// TestSlotsOfTemplatesSurviveKills kills the server repeatedly while templates of each when_busy are launched, and
// pipelines that launch one of them in a step and name the lock of another one. No slot is taken twice, and none is
// lost: each template can be launched afterwards.
func TestSlotsOfTemplatesSurviveKills(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		h := harness.NewHistory(t)
		first := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "8", "--drain-timeout", "5s"}})
		templates, paths := map[string]string{}, map[string]string{"pipeline": "/v1/pipelines"}
		for name, more := range map[string]harness.Body{
			"queue": {"max_concurrent": 2}, "skip": {"when_busy": "skip"}, "replace": {"when_busy": "replace"},
			"lock": {"max_concurrent": 0, "locks": []string{"one"}}, "step": {},
		} {
			more["name"], more["tool"], more["command"] = name, "bash", h.Note()+"sleep 0.3"
			var made struct{ ID string }
			first.Do(http.MethodPost, "/v1/templates", more).JSON(t, &made)
			templates[name], paths[name] = made.ID, "/v1/templates/"+made.ID+"/launch"
		}
		pipeline := harness.Body{"name": "pipeline", "locks": []string{"one"}, "steps": []harness.Body{
			{"name": "a", "template_id": templates["step"]},
			{"name": "b", "tool": "bash", "command": h.Note() + "sleep 0.1"}}}
		var now atomic.Pointer[harness.Server]
		now.Store(first)
		var clients sync.WaitGroup
		var over atomic.Bool
		ask := func(name, key string) (harness.Answer, error) {
			body := harness.Body{}
			if name == "pipeline" {
				body = pipeline
			}
			_, a, err := h.Post(now.Load().Client, paths[name], body, "Idempotency-Key", key)
			return a, err
		}
		names := []string{"queue", "skip", "replace", "lock", "step", "pipeline"}
		var busy atomic.Int64
		for _, name := range names {
			clients.Go(func() {
				for n := 0; !over.Load(); n++ {
					a, err := ask(name, fmt.Sprint(name, n))
					if err == nil && a.Status == http.StatusConflict && name == "skip" {
						busy.Add(1)
					}
					<-time.After(depthtest.Of(250*time.Millisecond, 100*time.Millisecond))
				}
			})
		}
		killOften(t, h, &now)
		over.Store(true)
		clients.Wait()
		list := h.Check(now.Load().Client)
		for limit, of := range map[int][][]string{2: {{"queue"}},
			1: {{"skip"}, {"replace"}, {"lock", "pipeline"}, {"step", "pipeline"}}} {
			for _, sharing := range of {
				some := slices.DeleteFunc(slices.Clone(list), func(r harness.Run) bool {
					return !slices.Contains(sharing, r.Name)
				})
				if n := atOnce(some); n == 0 || n > limit {
					t.Errorf("%d of %d runs of %v were executed at a time, and %d may be", n, len(some), sharing, limit)
				}
			}
		}
		if busy.Load() == 0 || !slices.ContainsFunc(list, func(r harness.Run) bool {
			return r.Kind == "pipeline" && r.StartedAt != nil && r.Status == "succeeded"
		}) {
			t.Errorf("%d launches were refused as busy, and a pipeline has to be executed", busy.Load())
		}
		noneLeft(t, now.Load())
		for _, name := range names {
			a, err := ask(name, "last "+name)
			if err != nil || a.Status != http.StatusCreated {
				t.Fatalf("%s after all others: %v %d %s", name, err, a.Status, a.Body)
			}
			var r harness.Run
			if a.JSON(t, &r); now.Load().Await(r.ID).Status != "succeeded" {
				t.Errorf("%s after all others did not succeed", name)
			}
		}
	})
}
