package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/writ-automation/writ/modules/execution/internal/summary"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// maxKnown bounds the runs whose hosts are kept, and maxNames the names of all of them.
	maxKnown = 4096
	maxNames = 500_000
	// eventsPerRead is how many events are read at once.
	eventsPerRead = 5000
	// maxClaimFacts and maxGatheredBytes bound the facts that one claim stores.
	maxClaimFacts     = 1_000_000
	maxClaimFactBytes = 8 << 30
)

// hosts holds, by run, the hosts with results.
type hosts struct {
	records Records

	mu    sync.Mutex
	known map[runs.Lease]*claimHosts
	names int
	turn  int64
}

// claimHosts holds the hosts of one claim. Its own lock is held while it reads.
type claimHosts struct {
	mu    sync.Mutex
	after int64 // the last event that was read
	names map[string]struct{}

	counted int // names in the total of all claims; under the lock of hosts, like the other fields
	used    int64
	facts   int
	bytes   int64
}

func newHosts(s Records) *hosts { return &hosts{records: s, known: make(map[runs.Lease]*claimHosts)} }

// of returns the hosts of a claim. The least recently used claims are evicted.
func (h *hosts) of(l runs.Lease) *claimHosts {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn++
	t := h.known[l]
	if t == nil {
		t = &claimHosts{names: make(map[string]struct{})}
		h.known[l] = t
	}
	t.used = h.turn
	for len(h.known) > maxKnown {
		h.evict(t)
	}
	return t
}

// updateCount updates the number of names of a claim, and evicts claims if there are too many.
func (h *hosts) updateCount(l runs.Lease, t *claimHosts, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[l] != t {
		return // it was evicted meanwhile
	}
	h.names += n - t.counted
	t.counted = n
	for h.names > maxNames && len(h.known) > 1 {
		h.evict(t)
	}
}

// evict removes the least recently used claim, except the given one.
func (h *hosts) evict(but *claimHosts) {
	var oldest runs.Lease
	var found *claimHosts
	for l, t := range h.known {
		if t != but && (found == nil || t.used < found.used) {
			oldest, found = l, t
		}
	}
	h.forget(oldest)
}

func (h *hosts) forget(l runs.Lease) {
	if t := h.known[l]; t != nil {
		h.names -= t.counted
		t.counted = 0
		delete(h.known, l)
	}
}

// drop removes an ended claim.
func (h *hosts) drop(l runs.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(l)
}

// unreportedHost returns the position of the first host without a result in the run, -1 for none.
func (h *hosts) unreportedHost(ctx context.Context, l runs.Lease, names []string) (int, error) {
	t := h.of(l)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.missing(names) < 0 {
		return -1, nil
	}
	defer func() { h.updateCount(l, t, len(t.names)) }()
	if err := h.follow(ctx, l, t); err != nil {
		return 0, fmt.Errorf("read the run's events: %w", err)
	}
	if t.missing(names) < 0 {
		return -1, nil
	}
	list, err := h.records.Summaries.Hosts(ctx, l.RunID)
	if err != nil && !runs.RunNotFound.Is(err) {
		return 0, fmt.Errorf("read the run's hosts: %w", err)
	}
	for i := range list {
		t.add(list[i].Host)
	}
	return t.missing(names), nil
}

// follow reads the events since the last call.
func (h *hosts) follow(ctx context.Context, l runs.Lease, t *claimHosts) error {
	for {
		list, err := h.records.Events.Events(ctx, l.RunID, t.after, eventsPerRead)
		if runs.RunNotFound.Is(err) {
			return nil
		}
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			e := &list[i]
			if typ := string(e.Type); strings.HasPrefix(typ, "host_") || strings.HasPrefix(typ, "item_") {
				t.add(e.Host)
			}
		}
		t.after = list[len(list)-1].Seq
	}
}

func (t *claimHosts) missing(names []string) int {
	for i, name := range names {
		if _, ok := t.names[name]; !ok {
			return i
		}
	}
	return -1
}

// add adds a host, unless the summary's maximum of hosts is reached or the name is invalid.
func (t *claimHosts) add(name string) {
	if len(t.names) < summary.MaxHosts && checkHost("", name) == nil {
		t.names[name] = struct{}{}
	}
}

// store saves the results of hosts and adds the hosts. More hosts than the summary's maximum are TooLarge.
func (h *hosts) store(l runs.Lease, names []string, save func() error) error {
	t := h.of(l)
	t.mu.Lock()
	defer t.mu.Unlock()
	more := make(map[string]struct{})
	for _, name := range names {
		if _, ok := t.names[name]; !ok {
			more[name] = struct{}{}
		}
	}
	if len(t.names)+len(more) > summary.MaxHosts {
		return &fault.Error{Kind: fault.TooLarge,
			Message: fmt.Sprintf("no more than %d hosts of a run are kept", summary.MaxHosts)}
	}
	if err := save(); err != nil {
		return err
	}
	for name := range more {
		t.names[name] = struct{}{}
	}
	h.updateCount(l, t, len(t.names))
	return nil
}

// storeFacts saves facts, unless the claim has stored too many.
func (h *hosts) storeFacts(l runs.Lease, n, size int, save func() error) error {
	t := h.of(l)
	h.mu.Lock()
	full := t.facts+n > maxClaimFacts || t.bytes+int64(size) > maxClaimFactBytes
	h.mu.Unlock()
	if full {
		return &fault.Error{Kind: fault.TooLarge, Message: "no more facts of this run are kept"}
	}
	if err := save(); err != nil {
		return err
	}
	h.mu.Lock()
	t.facts, t.bytes = t.facts+n, t.bytes+int64(size)
	h.mu.Unlock()
	return nil
}
