package eventstest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/events"
)

// Letters records dead letters. Its zero value is ready.
type Letters struct {
	mu       sync.Mutex
	refusals int
	added    []events.Failure
	resolved []string
}

var _ events.DeadLetters = (*Letters)(nil)

// Refuse makes the next n calls of Add fail.
func (l *Letters) Refuse(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = n
}

// Add records a failure.
func (l *Letters) Add(_ context.Context, f events.Failure) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals > 0 {
		l.refusals--
		return errors.New("no letter can be stored")
	}
	l.added = append(l.added, f)
	return nil
}

// Resolve records that a message was handled.
func (l *Letters) Resolve(_ context.Context, messageID, subscriber string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resolved = append(l.resolved, messageID+" "+subscriber)
	return nil
}

// Added returns the failures of a subscriber.
func (l *Letters) Added(subscriber string) []events.Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []events.Failure
	for _, f := range l.added {
		if f.Subscriber == subscriber {
			list = append(list, f)
		}
	}
	return list
}

// Resolved returns the resolved letters as "message subscriber".
func (l *Letters) Resolved() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.resolved)
}

// inbox collects the ids of messages.
type inbox struct {
	mu  sync.Mutex
	ids map[string]int
}

func (i *inbox) handle(_ context.Context, m events.Message) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ids == nil {
		i.ids = map[string]int{}
	}
	i.ids[m.ID]++
	return nil
}

// distinct returns the ids in order, each once: a bus may deliver a message twice.
func (i *inbox) distinct() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var list []string
	for id := range i.ids {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-limit.C:
			t.Fatalf("it never happened: %s", what)
		}
	}
}
