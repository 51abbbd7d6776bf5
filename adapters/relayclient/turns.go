package relayclient

import "sync"

// turns lets one claim at a time wait at the server. Others wait for how it ends: where it found a run, one of them
// is next, and where it did not, there is none for them either.
type turns struct {
	mu  sync.Mutex
	now *turn
}

// turn is the claim that waits.
type turn struct {
	over  chan struct{}
	found bool // may be read when it is over
}

// take returns the turn that goes on, or a new one that is the caller's own, who has to end it.
func (t *turns) take() (one *turn, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil {
		return t.now, false
	}
	t.now = &turn{over: make(chan struct{})}
	return t.now, true
}

func (t *turns) end(one *turn, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.found, t.now = found, nil
	close(one.over)
}
