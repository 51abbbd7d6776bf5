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
	// maxKnown is how many runs' hosts are remembered, and maxNames how many names of all of them.
	maxKnown = 4096
	maxNames = 500_000
	// eventsPerRead is how many events are looked through at once.
	eventsPerRead = 5000
	// maxClaimFacts and maxGatheredBytes bound the facts that one claim stores.
	maxClaimFacts     = 1_000_000
	maxClaimFactBytes = 8 << 30
)

// hosts remembers of which hosts runs have told results.
type hosts struct {
	records Records

	mu    sync.Mutex
	known map[runs.Lease]*claimHosts
	names int
	turn  int64
}

// claimHosts are the hosts of one claim. Its own lock is held while it reads.
type claimHosts struct {
	mu    sync.Mutex
	after int64 // the last event that was looked at
	names map[string]struct{}

	counted int // of names, as the whole counts them; under the lock of the whole, as are the others
	used    int64
	facts   int
	bytes   int64
}

func newHosts(s Records) *hosts { return &hosts{records: s, known: make(map[runs.Lease]*claimHosts)} }

// of returns what is known of a claim. Those that nobody asked about for longest make room.
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

// updateCount counts the names of a claim, and makes room where there are too many.
func (h *hosts) updateCount(l runs.Lease, t *claimHosts, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[l] != t {
		return // it was forgotten meanwhile
	}
	h.names += n - t.counted
	t.counted = n
	for h.names > maxNames && len(h.known) > 1 {
		h.evict(t)
	}
}

// evict forgets the claim that was not used for longest, but for one.
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

// drop forgets a claim that is over.
func (h *hosts) drop(l runs.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(l)
}

// unreportedHost returns the position of the first host of which the run has told no result, -1 where there is none.
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

// follow looks through the events that came since the last time.
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

// add remembers a host, unless there are as many as a run is told apart by or its name is none.
func (t *claimHosts) add(name string) {
	if len(t.names) < summary.MaxHosts && checkHost("", name) == nil {
		t.names[name] = struct{}{}
	}
}

// store lets the results of hosts be stored and remembers them. More hosts than a run is told apart by are TooLarge.
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
		return &fault.Error{Kind: fault.TooLarge, Message: fmt.Sprintf("no more than %d hosts of a run are kept", summary.MaxHosts)}
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

// storeFacts lets facts be stored, as long as the claim has not stored too many.
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
