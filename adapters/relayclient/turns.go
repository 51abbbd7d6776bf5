package relayclient

import "sync"

// turns lets one claim at a time wait at the server. Others wait for its result: if it found a run, one of them is
// next; if not, there is no run for them either.
type turns struct {
	mu  sync.Mutex
	now *turn
}

// turn is the waiting claim.
type turn struct {
	over  chan struct{}
	found bool // valid once the turn is over
}

// take returns the current turn, or a new one that the caller owns and has to end.
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
