package outbox

import (
	"slices"
	"sync"
)

// Audience maps each event to its subscribers. It is filled before the first event is published. It is separate from
// the bus, so that a process without a bus can publish, and a subscriber can publish too.
type Audience struct {
	mu    sync.RWMutex
	names map[string][]string // subscribers by event
}

// NewAudience makes an Audience of the subscribers of each event.
func NewAudience(subscribers map[string][]string) *Audience {
	a := &Audience{names: make(map[string][]string, len(subscribers))}
	for event, names := range subscribers {
		for _, name := range names {
			a.Add(event, name)
		}
	}
	return a
}

// Add adds a subscriber of an event. Adding it again changes nothing.
func (a *Audience) Add(event, subscriber string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.names[event], subscriber) {
		a.names[event] = append(a.names[event], subscriber)
		slices.Sort(a.names[event])
	}
}

// Of returns the subscribers of an event.
func (a *Audience) Of(event string) []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Clone(a.names[event])
}

// All returns the subscribers of any event.
func (a *Audience) All() []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var all []string
	for _, names := range a.names {
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
