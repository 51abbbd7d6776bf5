package db

import (
	"context"
	"sync"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/tx"
)

// watchBuffer is the number of payloads that a watcher may leave unread. The last place is for the empty payload, which
// replaces dropped ones.
const watchBuffer = 64

// Signals sends wake-ups inside the process, and over NOTIFY between all processes on Postgres. On SQLite a commit of
// another process wakes the watchers of runs, messages and refreshes, with the empty payload.
type Signals struct {
	hub     *hub
	remote  *listener // nil on SQLite
	foreign *foreign  // nil on Postgres
}

var _ events.Signals = (*Signals)(nil)

// Inside a unit, watchers wake only after its commit, and not at all if it rolls back. Payloads are ids: on Postgres
// one of more than 1,000 bytes reaches other processes as the empty payload.
func (s *Signals) Signal(ctx context.Context, topic, payload string) error {
	if s.remote != nil {
		if err := s.remote.notify(ctx, topic, payload); err != nil {
			return err
		}
	}
	tx.OnCommit(ctx, func() { s.hub.wake(topic, payload) })
	return nil
}

// After stop nothing more is sent; the channel is not closed. A watcher gets an empty payload whenever signals of
// other processes may have been missed.
func (s *Signals) Watch(topic string) (ch <-chan string, stop func()) {
	ch, stop = s.hub.watch(topic)
	switch {
	case s.remote != nil:
		s.remote.start()
	case topic == events.TopicQueue || topic == events.TopicOutbox || topic == events.TopicRefresh:
		s.foreign.start()
	}
	return ch, stop
}

// hub holds the watchers of this process.
type hub struct {
	mu       sync.Mutex
	watchers map[string]map[*watcher]struct{}
}

type watcher struct {
	ch       chan string
	last     string
	overflow bool
}

func newHub() *hub { return &hub{watchers: map[string]map[*watcher]struct{}{}} }

func (h *hub) watch(topic string) (<-chan string, func()) {
	w := &watcher{ch: make(chan string, watchBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[topic] == nil {
		h.watchers[topic] = map[*watcher]struct{}{}
	}
	h.watchers[topic][w] = struct{}{}
	return w.ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[topic], w)
		if len(h.watchers[topic]) == 0 {
			delete(h.watchers, topic)
		}
	}
}

func (h *hub) wake(topic, payload string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[topic] {
		w.send(payload)
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, set := range h.watchers {
		for w := range set {
			w.send("")
		}
	}
}

// send never blocks: only the hub sends, under its lock, so free space stays free. It skips a payload that equals the
// last one, and any payload after an empty one at the end of a full channel.
func (w *watcher) send(payload string) {
	if len(w.ch) > 0 && w.last == payload {
		return
	}
	if len(w.ch) >= watchBuffer-1 {
		if w.overflow {
			return
		}
		payload, w.overflow = "", true
	} else {
		w.overflow = false
	}
	w.ch <- payload
	w.last = payload
}
