package relay_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestBadClaims checks that the error names the wrong member, and that nothing is leased.
func TestBadClaims(t *testing.T) {
	t.Parallel()
	w := one(t)
	id := w.submit()
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("k", i)] = ""
	}
	type edit = func(c *execution.RelayClaim)
	for _, c := range []struct {
		field string
		edit  edit
	}{
		{"worker.name", func(c *execution.RelayClaim) { c.Worker.Name = "" }},
		{"worker.name", func(c *execution.RelayClaim) { c.Worker.Name = "a/b" }},
		{"worker.name", func(c *execution.RelayClaim) { c.Worker.Name = "-a" }},
		{"worker.name", func(c *execution.RelayClaim) { c.Worker.Name = "a\n" }},
		{"worker.name", func(c *execution.RelayClaim) { c.Worker.Name = strings.Repeat("a", 129) }},
		{"worker.executors", func(c *execution.RelayClaim) { c.Worker.Executors = -1 }},
		{"worker.executors", func(c *execution.RelayClaim) { c.Worker.Executors = 10_001 }},
		{"worker.version", func(c *execution.RelayClaim) { c.Worker.Version = "1\x00" }},
		{"worker.labels", func(c *execution.RelayClaim) { c.Worker.Labels = map[string]string{"A B": ""} }},
		{"worker.labels", func(c *execution.RelayClaim) { c.Worker.Labels = many }},
		{"worker.labels.k", func(c *execution.RelayClaim) {
			c.Worker.Labels = map[string]string{"k": strings.Repeat("ä", 256)}
		}},
		{"queues[1]", func(c *execution.RelayClaim) { c.Queues = []string{"default", ""} }},
		{"queues[0]", func(c *execution.RelayClaim) { c.Queues = []string{strings.Repeat("q", 101)} }},
		{"queues", func(c *execution.RelayClaim) { c.Queues = make([]string, 65) }},
		{"wait_seconds", func(c *execution.RelayClaim) { c.WaitSeconds = 31 }},
		{"wait_seconds", func(c *execution.RelayClaim) { c.WaitSeconds = -1 }},
		{"canceling", func(c *execution.RelayClaim) { c.Canceling = make([]string, execution.RelayList+1) }},
		{"heads", func(c *execution.RelayClaim) { c.Heads = make([]string, 17) }},
		{"heads[0]", func(c *execution.RelayClaim) { c.Heads = []string{strings.Repeat("h", 64<<10+1)} }},
	} {
		claim := asks("w")
		c.edit(&claim)
		g, _, err := w.relay.Claim(t.Context(), claim)
		var f *fault.Error
		if g != nil || !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != c.field {
			t.Errorf("%s: %v, %v", c.field, g, err)
		}
	}
	if r := w.run(id); r.Status != runs.Pending || len(w.fleet()) != 0 {
		t.Errorf("the run is %s, the fleet %v", r.Status, w.fleet())
	}
}

// TestQueues checks that a worker that names no queue gets runs of the default queue.
func TestQueues(t *testing.T) {
	t.Parallel()
	w := one(t)
	w.submit(func(r *runs.Run) { r.Spec.Queue = "other" })
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); err != nil || g != nil {
		t.Errorf("who names no queue gets %+v %v", g, err)
	}
	if g, _, err := w.relay.Claim(t.Context(), asks("w", "other")); err != nil || g == nil {
		t.Errorf("%+v %v", g, err)
	}
}

// TestAGrant checks that the run has the worker's own name and its variables, but no notification targets, and that
// only the digest of the capability is stored.
func TestAGrant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		w.heads.newest = "a note"
		w.submit(func(r *runs.Run) {
			r.Vars = runs.Vars{"password": json.RawMessage(`"hunter2"`)}
			r.Spec.Notifications = []runs.Notification{{Kind: "webhook", URL: "https://example.org/***"}}
		})
		g, note, err := w.relay.Claim(t.Context(), asks("w"))
		w.must(err)
		if g == nil || note != "a note" || g.Lease != runs.LeaseTTL {
			t.Fatalf("%+v %q", g, note)
		}
		r := &g.Run
		if r.Worker != "relay/w" || r.Epoch != 1 || r.NextSeq != 2 || r.Status != runs.Running || r.Begun ||
			string(r.ExtraVars["password"]) != `"hunter2"` || r.Notifications != nil {
			t.Errorf("the run is %+v", r)
		}
		raw, err := base64.RawURLEncoding.DecodeString(g.Capability.Reveal())
		if err != nil || len(raw) != 32 {
			t.Errorf("the capability has %d bytes: %v", len(raw), err)
		}
		l, ok, err := w.store.ClaimOf(t.Context(), sha256.Sum256([]byte(g.Capability.Reveal())))
		if err != nil || !ok || l != (runs.Lease{RunID: r.ID, Worker: "relay/w", Epoch: 1}) {
			t.Errorf("kept is %+v, %t, %v", l, ok, err)
		}
		h := bearer(r.ID, g.Capability)
		got, err := w.relay.Run(t.Context(), h)
		w.must(err)
		if string(got.ExtraVars["password"]) != `"`+runs.Redacted+`"` || got.ID != r.ID || got.Notifications != nil {
			t.Errorf("told again it is %+v", got)
		}
		if strings.Contains(w.log.text(), g.Capability.Reveal()) {
			t.Error("the capability is in the log")
		}
	})
}

// TestManyClaimersOneRun checks that one of many claims gets a run, with and without waiting.
func TestManyClaimersOneRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		id := w.submit()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var wg sync.WaitGroup
		var got atomic.Int32
		for i := range 64 {
			wg.Go(func() {
				c := asks(fmt.Sprint("w", i))
				c.WaitSeconds = i % 2
				g, _, err := w.relay.Claim(ctx, c)
				if err != nil {
					t.Error(err)
				}
				if g != nil {
					got.Add(1)
				}
			})
		}
		wg.Wait()
		if r := w.run(id); got.Load() != 1 || r.Epoch != 1 || r.Status != runs.Running {
			t.Errorf("%d have the run, which is %s of epoch %d", got.Load(), r.Status, r.Epoch)
		}
	})
}

// TestAClaimWaits checks that waiting claims get new runs, each its own, long before the wait is over.
func TestAClaimWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		const all = 8
		grants := make(chan *execution.Grant, all)
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				c := asks(fmt.Sprint("w", i))
				c.WaitSeconds = 30
				g, _, err := w.relay.Claim(t.Context(), c)
				if err != nil || g == nil {
					t.Errorf("%v %v", g, err)
					return
				}
				grants <- g
			})
		}
		w.until("the workers wait", func() bool { return len(w.fleet()) == all })
		for range all {
			w.submit()
		}
		wg.Wait()
		close(grants)
		seen := map[string]bool{}
		for g := range grants {
			seen[g.Run.ID] = true
		}
		if len(seen) != all {
			t.Errorf("%d runs were given away", len(seen))
		}
	})
}

// TestWaitsEnd checks that waits end with the relay and with the caller; later runs are not leased to them.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	w := one(t)
	ctx, leave := context.WithCancel(t.Context())
	left, closed := make(chan error, 1), make(chan error, 1)
	waits := func(ctx context.Context, name string, out chan error) {
		c := asks(name)
		c.WaitSeconds = 30
		g, _, err := w.relay.Claim(ctx, c)
		if g != nil {
			err = errors.New("a run was given away")
		}
		out <- err
	}
	go waits(ctx, "leaves", left)
	go waits(t.Context(), "stays", closed)
	w.until("both wait", func() bool { return len(w.fleet()) == 2 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left heard %v", err)
	}
	w.relay.Close()
	if err := <-closed; err != nil {
		t.Errorf("who stayed heard %v", err)
	}
	id := w.submit()
	if _, _, err := w.relay.Claim(t.Context(), asks("late")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
	if r := w.run(id); r.Status != runs.Pending || r.Epoch != 0 {
		t.Errorf("the run is %s of epoch %d", r.Status, r.Epoch)
	}
}

// TestWhoGoesAwayLeavesNoRun checks that a run leased to an ended call is pending again.
func TestWhoGoesAwayLeavesNoRun(t *testing.T) {
	t.Parallel()
	w := one(t)
	id := w.submit()
	ctx, leave := context.WithCancel(t.Context())
	w.plane.hook(func(op string) error {
		if op == "claim" {
			leave()
		}
		return nil
	})
	if g, _, err := w.relay.Claim(ctx, asks("w")); g != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", g, err)
	}
	if r := w.run(id); r.Status != runs.Pending || r.Epoch != 1 {
		t.Errorf("the run is %s of epoch %d", r.Status, r.Epoch)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if g, _, err := w.relay.Claim(over, asks("w")); g != nil || !errors.Is(err, context.Canceled) || w.run(id).Epoch != 1 {
		t.Errorf("a call that is over leased: %v %v", g, err)
	}
}

// TestNobodyAnswers checks the error of a store that fails to lease, and that no capability is stored.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := one(t)
	id := w.submit()
	w.plane.hook(func(op string) error {
		if op == "claim" {
			return &fault.Error{Kind: fault.Unavailable, Message: "the database does not answer"}
		}
		return nil
	})
	c := asks("w")
	c.WaitSeconds = 30
	if _, _, err := w.relay.Claim(t.Context(), c); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	w.plane.hook(nil)
	if g, _ := w.claim("w"); g.Run.ID != id {
		t.Errorf("%+v", g)
	}
}

// TestTheWaitIsOver checks that a claim without a run returns nothing at the end of its wait.
func TestTheWaitIsOver(t *testing.T) {
	t.Parallel()
	w := one(t)
	begun := time.Now()
	c := asks("w")
	c.WaitSeconds = 1
	if g, _, err := w.relay.Claim(t.Context(), c); g != nil || err != nil || time.Since(begun) < time.Second {
		t.Errorf("%v %v after %s", g, err, time.Since(begun))
	}
}
