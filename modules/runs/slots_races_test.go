package runs_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

// slotHistory is what claimers did, in the order in which it was stored.
type slotHistory struct {
	mu     sync.Mutex
	events []slotEvent
	kept   map[string]bool // runs whose first claim is stored
}

// slotEvent is a claim of a run, or its end. An end is noted before it is stored, so that a slot may be free later than
// the history says, but not earlier.
type slotEvent struct {
	run string
	end bool
}

func (h *slotHistory) add(e slotEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !e.end && h.kept[e.run] {
		return // it was released, and has its slots since its first claim
	}
	if !e.end { // a unit that was repeated
		h.events = slices.DeleteFunc(h.events, func(o slotEvent) bool { return o == e })
	}
	h.events = append(h.events, e)
}

func (h *slotHistory) keep(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept[run] = true
}

// entrant is a run with its keys and its place in the order of claims.
type entrant struct {
	id       string
	priority int
	keys     []string
}

// checkSlots returns what a history breaks: more runs with a slot of a key than its limit, a run that passed by others
// that were before it at a key, and runs that did not end. The entrants are in the order of their submission. With
// inOrder, all were submitted before the first claim, and one claim was stored after the other.
func checkSlots(entrants []entrant, limits map[string]int, events []slotEvent, inOrder bool) (broken []string) {
	order := slices.Clone(entrants)
	slices.SortStableFunc(order, func(a, b entrant) int { return cmp.Compare(b.priority, a.priority) })
	place, waits := map[string]int{}, map[string]map[string]bool{}
	for i, x := range order {
		place[x.id] = i
		for _, k := range x.keys {
			if waits[k] == nil {
				waits[k] = map[string]bool{}
			}
			waits[k][x.id] = true
		}
	}
	held, ended := map[string]int{}, map[string]bool{}
	for _, e := range events {
		x := order[place[e.run]]
		for _, k := range x.keys {
			if e.end {
				held[k]--
				continue
			}
			delete(waits[k], x.id)
			if held[k]++; held[k] > limits[k] {
				broken = append(broken, fmt.Sprintf("%s is claimed while %d have %s", x.id, held[k]-1, k))
			}
			ahead := 0
			for other := range waits[k] {
				if place[other] < place[x.id] {
					ahead++
				}
			}
			if inOrder && held[k]+ahead > limits[k] {
				broken = append(broken, fmt.Sprintf("%s passed by %d others at %s", x.id, ahead, k))
			}
		}
		ended[e.run] = ended[e.run] || e.end
	}
	if len(ended) < len(entrants) || slices.Contains(slices.Collect(maps.Values(ended)), false) {
		broken = append(broken, "not all runs ended")
	}
	return broken
}

// TestSlotHistories has the checker find what is wrong.
func TestSlotHistories(t *testing.T) {
	t.Parallel()
	entrants := []entrant{{"a", 0, []string{"x"}}, {"b", 0, []string{"x"}}, {"c", 1, []string{"x", "y"}}}
	limits := map[string]int{"x": 1, "y": 1}
	in := func(id string) slotEvent { return slotEvent{id, false} }
	out := func(id string) slotEvent { return slotEvent{id, true} }
	for what, x := range map[string]struct {
		events []slotEvent
		want   string
	}{
		"good":       {[]slotEvent{in("c"), out("c"), in("a"), out("a"), in("b"), out("b")}, ""},
		"two":        {[]slotEvent{in("c"), in("a"), out("c"), out("a"), in("b"), out("b")}, "while 1 have x"},
		"order":      {[]slotEvent{in("c"), out("c"), in("b"), out("b"), in("a"), out("a")}, "passed by 1"},
		"priority":   {[]slotEvent{in("a"), out("a"), in("c"), out("c"), in("b"), out("b")}, "passed by 1"},
		"unfinished": {[]slotEvent{in("c"), out("c"), in("a"), out("a"), in("b")}, "not all"},
		"starved":    {[]slotEvent{in("c"), out("c"), in("a"), out("a")}, "not all"},
	} {
		got := checkSlots(entrants, limits, x.events, true)
		if x.want == "" && len(got) > 0 || x.want != "" && (len(got) == 0 || !strings.Contains(got[0], x.want)) {
			t.Errorf("%s: %q, want %q", what, got, x.want)
		}
	}
}

// contest is many claimers that end what they claim, until all runs have ended.
type contest struct {
	entrants []entrant
	limits   map[string]int
	history  slotHistory
	left     chan struct{} // one for each run that has not ended
	done     chan struct{}
}

// newContest submits runs with mixed keys, half of them exclusive to some hosts.
func newContest(b *bundle, n int) *contest {
	c := &contest{limits: map[string]int{}, history: slotHistory{kept: map[string]bool{}},
		left: make(chan struct{}, n), done: make(chan struct{})}
	r := rand.New(rand.NewPCG(1, 2))
	for i, limit := range []int{1, 2, 3} {
		id := fmt.Sprintf("tpl_%026d", i)
		c.limits[runs.TemplateSlot+id] = limit
		b.limit(runs.SlotKey(runs.TemplateSlot+id), limit)
	}
	for i := range n {
		q, x := playbook(), entrant{priority: r.IntN(3)}
		q.Priority = x.priority
		if i%4 != 0 {
			q.TemplateID = fmt.Sprintf("tpl_%026d", r.IntN(3))
			x.keys = append(x.keys, runs.TemplateSlot+q.TemplateID)
		}
		for l := range 2 {
			if r.IntN(3) == 0 {
				q.Locks = append(q.Locks, fmt.Sprint("l", l))
				x.keys = append(x.keys, fmt.Sprint(runs.LockSlot, "l", l))
			}
		}
		if r.IntN(4) == 0 {
			q.ExclusiveHosts = true
			for _, h := range r.Perm(5)[:1+r.IntN(2)] {
				q.LimitHosts = append(q.LimitHosts, fmt.Sprint("h", h))
				x.keys = append(x.keys, fmt.Sprint(runs.HostSlot, "h", h))
			}
		}
		for _, k := range x.keys {
			c.limits[k] = max(c.limits[k], 1)
		}
		x.id = b.submit(q).ID
		c.entrants = append(c.entrants, x)
		c.left <- struct{}{}
	}
	return c
}

// claimer claims and ends runs. It waits for the signal of a queue when it finds nothing.
func (c *contest) claimer(t *testing.T, b *bundle, name string) {
	wake, stop := b.d.Signals().Watch("queue")
	defer stop()
	const pause = 2 * time.Minute
	limit, left := time.NewTimer(pause), len(c.left)
	defer limit.Stop()
	for {
		a, err := b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: name,
			Then: func(_ context.Context, a *runs.Assignment) error {
				c.history.add(slotEvent{a.Run.ID, false})
				return nil
			}})
		if err == nil && a != nil {
			err = c.work(t.Context(), b, a)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if a != nil {
			continue
		}
		select {
		case <-wake:
		case <-c.done:
			return
		case <-limit.C:
			if len(c.left) == left {
				t.Errorf("%s waits for ever: %d runs are left", name, left)
				return
			}
			limit.Reset(pause)
			left = len(c.left)
		}
	}
}

func (c *contest) work(ctx context.Context, b *bundle, a *runs.Assignment) error {
	c.history.keep(a.Run.ID)
	if rand.IntN(10) == 0 {
		return b.Worklist.Release(ctx, a.Lease) // its slots stay, and it is claimed again
	}
	if err := b.Worklist.Begin(ctx, a.Lease); err != nil {
		return err
	}
	c.history.add(slotEvent{a.Run.ID, true})
	if err := b.Worklist.Finish(ctx, a.Lease, runs.Ending{Status: runs.Succeeded}); err != nil {
		return err
	}
	<-c.left
	if len(c.left) == 0 {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
	return nil
}

func (c *contest) run(t *testing.T, inOrder bool, servers ...*bundle) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { c.claimer(t, servers[i%len(servers)], fmt.Sprint("w", i)) })
	}
	wg.Wait()
	for _, what := range checkSlots(c.entrants, c.limits, c.history.events, inOrder) {
		t.Error(what)
	}
}

// TestClaimersOfMixedKeys has many claimers of one process. Nothing searches for free slots, so that every wake-up
// comes from the end of a run.
func TestClaimersOfMixedKeys(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		newContest(b, depthtest.Of(200, 2000)).run(t, true, b)
	})
}

// TestServersOfMixedKeys has claimers of three servers, which search for free slots that an end has missed. The order
// of two that look at the same moment is not certain.
func TestServersOfMixedKeys(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	var servers []*bundle
	for range 3 {
		b := setup(t, dbtest.Connect(t, db.Config{URL: url}), module.Config{})
		b.Background.Start()
		t.Cleanup(func() {
			if err := b.Background.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		servers = append(servers, b)
	}
	newContest(servers[0], depthtest.Of(200, 2000)).run(t, false, servers...)
}
