package relayclient

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

func newClaims(t *testing.T) *claims {
	t.Helper()
	c, err := openClaims(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func made(i int) claim {
	return claim{run: fmt.Sprint("run_", i), epoch: 1, worker: "relay/w", capability: "c"}
}

func lease(k claim) runs.Lease { return runs.Lease{RunID: k.run, Worker: k.worker, Epoch: k.epoch} }

// Ended claims are kept up to a maximum.
func TestClaimsThatAreOver(t *testing.T) {
	t.Parallel()
	c := newClaims(t)
	const all = maxEnded + 10
	for i := range all {
		c.mu.Lock()
		c.add(made(i), true, &execution.RelaySecrets{})
		c.mu.Unlock()
		c.end(made(i).key())
		c.end(made(i).key())
	}
	for i := range all {
		if _, err := c.of(lease(made(i))); (err == nil) != (i >= 10) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if len(c.ended) != maxEnded || len(c.order) != maxEnded || len(c.held) != 0 {
		t.Errorf("%d and %d are remembered, %d held", len(c.ended), len(c.order), len(c.held))
	}
}

// All methods are called concurrently, for the race detector.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	c := newClaims(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			k := made(i % 10)
			k.epoch = int64(1 + i/10)
			if err := c.put(k, &execution.RelaySecrets{}, nil); err != nil {
				t.Error(err)
			}
			_, _ = c.of(lease(k))
			_, _, _ = c.take(secrets.Owner{ID: k.run, Epoch: k.epoch})
			if _, err := c.active("w"); err != nil {
				t.Error(err)
			}
			c.matching(func(*entry) bool { return true })
			c.end(k.key())
		})
	}
	all.Wait()
	for i := range 10 {
		for epoch := range int64(5) {
			c.end(key{made(i).run, epoch})
		}
	}
	if found, err := c.store.read(c.log); err != nil || len(found) != 0 || len(c.held) != 0 {
		t.Errorf("left are %v %v", found, err)
	}
}
