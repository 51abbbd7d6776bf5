package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// servers share one database. A test kills one after the other: at a point around a commit that other units share, or
// at any time.
type servers struct {
	t     *testing.T
	traps []*trap
	now   []atomic.Pointer[harness.Server]
}

// points are where a server dies. The last units of a group wait for the commit while the first ones pass these; no
// point is any time.
var points = []string{"unit-before-commit", "unit-after-commit", "request-after-commit", ""}

func startServers(t *testing.T, dbURL string) *servers {
	t.Helper()
	n := &servers{t: t, now: make([]atomic.Pointer[harness.Server], len(points))}
	admin := ""
	for i, point := range points {
		tr := newTrap(t, dbURL, point, "--executors", "2")
		n.traps = append(n.traps, tr)
		n.now[i].Store(tr.start(&admin))
	}
	return n
}

func (n *servers) client(i int) harness.Client { return n.now[i%len(points)].Load().Client }

// kill kills a server and starts it again.
func (n *servers) kill(i int) {
	n.t.Helper()
	i %= len(points)
	s, tr := n.now[i].Load(), n.traps[i]
	tr.set(1 + rand.IntN(20))
	if points[i] == "" {
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond)
		s.Kill()
	} else {
		s.Wait(time.Minute)
	}
	n.now[i].Store(tr.release(s))
}

// TestFourServersAreKilledWhileTheyCommit lets four servers over one Postgres take and execute runs while one after
// the other is killed around its commits. A client repeats each submission, at any server, until it is answered. In the
// end each submission is there once, and so are its entries, in a chain that verifies.
// Keeps F37.
func TestFourServersAreKilledWhileTheyCommit(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL == "" {
			return // one server owns an SQLite file
		}
		h, n := harness.NewHistory(t), startServers(t, dbURL)
		var clients sync.WaitGroup
		var over atomic.Bool
		for c := range 2 * len(points) {
			clients.Go(func() {
				for k := 0; !over.Load(); k++ {
					body, key := h.Script("true"), fmt.Sprint("c", c, "k", k)
					harness.Eventually(t, 2*time.Minute, "a submission is answered", func() bool {
						r, _, err := h.Submit(n.client(rand.IntN(len(points))), body, "Idempotency-Key", key)
						return err == nil && r.ID != ""
					})
					<-time.After(depthtest.Of(100*time.Millisecond, 5*time.Millisecond))
				}
			})
		}
		for i := range depthtest.Of(1, 6) * len(points) {
			n.kill(i)
		}
		over.Store(true)
		clients.Wait()
		h.Check(n.client(0))
		if _, total := n.now[1].Load().Runs("limit=1"); total != len(h.Acked()) {
			t.Errorf("%d runs of %d submissions", total, len(h.Acked()))
		}
	})
}
