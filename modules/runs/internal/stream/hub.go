package stream

import (
	"sync"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the output and events that the hub holds of one followed run.
const (
	maxLog    = 1 << 20
	maxEvents = 2048
)

// Hub wakes the followers of runs in this process and passes new output and events to them. It is safe for concurrent
// use and never blocks.
type Hub struct {
	mu    sync.Mutex
	feeds map[string]*feed
	count atomic.Int64 // of feeds: a report of a run without followers costs one load
}

var _ runs.Live = (*Hub)(nil)

// NewHub returns a hub without followers.
func NewHub() *Hub { return &Hub{feeds: map[string]*feed{}} }

// feed holds the newest output and events of one followed run, each without a gap.
type feed struct {
	subs   map[*Sub]struct{}
	log    []runs.LogChunk
	size   int
	events []runs.Event

	followers atomic.Int64
	readings  readings
	texts     texts
	deltas    deltas
	pace      pace
}

// Sub is one follower's subscription.
type Sub struct {
	hub   *Hub
	feed  *feed
	id    string
	wake  chan struct{}
	stale atomic.Bool
}

// Subscribe makes the hub hold new output and events of a run. The caller must call Close.
func (h *Hub) Subscribe(id string) *Sub {
	s := &Sub{hub: h, id: id, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[id]
	if f == nil {
		f = &feed{subs: map[*Sub]struct{}{}}
		h.feeds[id] = f
		h.count.Add(1)
	}
	f.subs[s], s.feed = struct{}{}, f
	f.followers.Add(1)
	return s
}

// Close ends the subscription. The last one of a run drops its feed.
func (s *Sub) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	f := s.hub.feeds[s.id]
	if f == nil {
		return
	}
	delete(f.subs, s)
	f.followers.Add(-1)
	if len(f.subs) == 0 {
		delete(s.hub.feeds, s.id)
		if f.pace.timer != nil {
			f.pace.timer.Stop()
		}
		s.hub.count.Add(-1)
	}
}

// C is signalled when there may be new output, events or changes of the record.
func (s *Sub) C() <-chan struct{} { return s.wake }

// TakeStale reports whether the run's record changed since the last call.
func (s *Sub) TakeStale() bool { return s.stale.Swap(false) }

func (s *Sub) signal(stale bool) {
	if stale {
		s.stale.Store(true)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Wake notifies the followers of a run that its record changed.
func (h *Hub) Wake(id string) {
	h.with(id, true, func(*feed) {})
}

// WakeAll makes every follower read the store.
func (h *Hub) WakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		f.notify(true)
	}
}

func (h *Hub) ShowLog(id string, c runs.LogChunk) {
	h.with(id, false, func(f *feed) { f.addLog(c) })
}

// ShowEvents passes stored events to the followers of a run.
func (h *Hub) ShowEvents(id string, events []runs.Event) {
	h.with(id, false, func(f *feed) { f.addEvents(events) })
}

func (h *Hub) with(id string, stale bool, change func(*feed)) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[id]; f != nil {
		change(f)
		if stale {
			f.notify(true)
		} else {
			f.announce(h)
		}
	}
}

// wakeOthers makes the other followers of a run read it.
func (h *Hub) wakeOthers(but *Sub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range but.feed.subs {
		if s != but {
			s.signal(true)
		}
	}
}

func (f *feed) notify(stale bool) {
	if stale {
		f.readings.changes.Add(1)
	}
	for s := range f.subs {
		s.signal(stale)
	}
}

// addLog appends a copy of the new part of a chunk, since the reporter may reuse its buffer. A chunk beyond the end
// replaces the held output; followers read the bytes between from the store.
func (f *feed) addLog(c runs.LogChunk) {
	if n := len(f.log); n > 0 {
		end := f.log[n-1].Offset + int64(len(f.log[n-1].Data))
		switch {
		case c.Offset > end:
			f.log, f.size = nil, 0
		case c.Offset < end:
			c.Data = c.Data[min(end-c.Offset, int64(len(c.Data))):]
			c.Offset = end
		}
	}
	if len(c.Data) > maxLog {
		cut := len(c.Data) - maxLog
		c = runs.LogChunk{Offset: c.Offset + int64(cut), Data: c.Data[cut:]}
		f.log, f.size = nil, 0
	}
	if len(c.Data) == 0 {
		return
	}
	c.Data = append([]byte(nil), c.Data...)
	f.log = append(f.log, c)
	f.size += len(c.Data)
	drop := 0
	for f.size > maxLog {
		f.size -= len(f.log[drop].Data)
		drop++
	}
	f.log = f.log[drop:]
}

func (f *feed) addEvents(events []runs.Event) {
	if len(events) == 0 {
		return
	}
	if n := len(f.events); n > 0 {
		next := f.events[n-1].Seq + 1
		if events[0].Seq > next {
			f.events = nil
		} else {
			events = events[min(int(next-events[0].Seq), len(events)):]
		}
	}
	f.events = append(f.events, events...)
	if over := len(f.events) - maxEvents; over > 0 {
		f.events = append([]runs.Event(nil), f.events[over:]...)
	}
}

// take returns the held output from offset on and the held events after the number after. gap means that the hub
// holds newer data that does not continue these positions. The results are shared and must not be changed.
func (s *Sub) take(after, offset int64) (log []runs.LogChunk, events []runs.Event, gap bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	f := s.hub.feeds[s.id]
	if f == nil {
		return nil, nil, false
	}
	log, gap = f.logFrom(offset)
	if n := len(f.events); n > 0 && f.events[n-1].Seq > after {
		if first := f.events[0].Seq; first > after+1 {
			gap = true
		} else {
			events = f.events[after+1-first : n : n]
		}
	}
	return log, events, gap
}

func (f *feed) logFrom(offset int64) ([]runs.LogChunk, bool) {
	for i := len(f.log) - 1; i >= 0; i-- {
		c := f.log[i]
		end := c.Offset + int64(len(c.Data))
		if end <= offset {
			return nil, false
		}
		if c.Offset <= offset {
			out := append([]runs.LogChunk(nil), f.log[i:]...)
			out[0] = runs.LogChunk{Offset: offset, Data: c.Data[offset-c.Offset:]}
			return out, false
		}
	}
	return nil, len(f.log) > 0
}
