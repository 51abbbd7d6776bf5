package relay

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func lease(n int) runs.Lease { return runs.Lease{RunID: fmt.Sprint("run_", n), Worker: "w", Epoch: 1} }

func names(from, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("h", from+i))
	}
	return out
}

// TestWhatIsKnownOfHostsIsBounded checks the bounds by runs and by names: the least recently used are evicted.
func TestWhatIsKnownOfHostsIsBounded(t *testing.T) {
	t.Parallel()
	h := newHosts(Records{})
	fine := func() error { return nil }
	for i := range maxKnown + 10 {
		if err := h.store(lease(i), names(0, 1), fine); err != nil {
			t.Fatal(err)
		}
		h.of(lease(0))
	}
	if len(h.known) != maxKnown || h.names != maxKnown || h.known[lease(0)] == nil || h.known[lease(1)] != nil {
		t.Errorf("%d runs with %d names", len(h.known), h.names)
	}
	many := names(0, 190_000)
	for i := range 4 {
		if err := h.store(lease(i), many, fine); err != nil {
			t.Fatal(err)
		}
	}
	if h.names > maxNames || h.known[lease(3)] == nil || h.known[lease(0)] != nil {
		t.Errorf("%d runs with %d names", len(h.known), h.names)
	}
	for l := range h.known {
		h.drop(l)
	}
	h.drop(lease(1))
	if len(h.known) != 0 || h.names != 0 {
		t.Errorf("%d runs with %d names are left", len(h.known), h.names)
	}
}

// TestFactsOfAClaimAreBounded by their number and their size; those that were not stored do not count.
// Keeps T02.
func TestFactsOfAClaimAreBounded(t *testing.T) {
	t.Parallel()
	h := newHosts(Records{})
	fine := func() error { return nil }
	for _, c := range []struct {
		n, size int
		save    func() error
		full    bool
	}{
		{maxClaimFacts, 1, func() error { return errors.New("not stored") }, false}, {maxClaimFacts - 1, 1, fine, false},
		{2, 1, fine, true}, {1, 1, fine, false},
		{0, maxClaimFactBytes, fine, true},
	} {
		if err := h.storeFacts(lease(1), c.n, c.size, c.save); fault.Is(err, fault.TooLarge) != c.full {
			t.Errorf("%d facts of %d bytes: %v", c.n, c.size, err)
		}
	}
}

// TestTheListOfWorkersIsBounded checks that further workers are not listed, and that ended ones make room.
func TestTheListOfWorkersIsBounded(t *testing.T) {
	t.Parallel()
	p := newPeers()
	at := time.Unix(1_700_000_000, 0)
	due := func(name string, at time.Time) bool { ok, _ := p.reportDue(name, at); return ok }
	for i := range maxPeers {
		if !due(fmt.Sprint(i), at) {
			t.Fatal("one is not listed")
		}
	}
	if due("more", at) || p.touchDue("more", at) || len(p.uncheckedHeads("more", []string{"head"}, at)) != 1 ||
		len(p.known) != maxPeers {
		t.Errorf("%d workers are listed", len(p.known))
	}
	p.markChecked("more", []string{"head"}, at)
	if !due("more", at.Add(execution.WorkerTTL)) || len(p.known) != 1 {
		t.Errorf("%d workers are listed", len(p.known))
	}
}
