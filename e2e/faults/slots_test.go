package faults

import (
	"fmt"
	"math/rand/v2"
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

// TestLimitSurvivesKills kills the server repeatedly while runs wait for the two slots of their queue. There are never
// more of them at a time, and all of them end: a slot is its run's, whatever happens to the server.
func TestLimitSurvivesKills(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		const limit = 2
		h := harness.NewHistory(t)
		first := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "6", "--drain-timeout", "5s"}})
		first.Alter("INSERT INTO slot_limits (key, n) VALUES ('queue:default', ?)", limit)
		var now atomic.Pointer[harness.Server]
		now.Store(first)
		var clients sync.WaitGroup
		var over atomic.Bool
		for c := range 3 {
			clients.Go(func() {
				for n := 0; !over.Load(); n++ {
					_, _, _ = h.Submit(now.Load().Client, h.Script("sleep 0.3"), "Idempotency-Key", fmt.Sprint(c, " ", n))
					<-time.After(depthtest.Of(150*time.Millisecond, 50*time.Millisecond))
				}
			})
		}
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
		over.Store(true)
		clients.Wait()
		list := h.Check(now.Load().Client)
		if n := atOnce(list); n != limit {
			t.Errorf("%d of %d runs were executed at a time, and the queue allows %d and has enough", n, len(list), limit)
		}
		if left := now.Load().Column("SELECT key FROM run_slots"); len(left) > 0 {
			t.Errorf("%d slots are left of ended runs", len(left))
		}
	})
}
