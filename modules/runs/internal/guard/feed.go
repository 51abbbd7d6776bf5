package guard

import (
	"context"
	"fmt"
	"sync"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// maxCounts limits the counts of held runs that are remembered, one for each group of readers with the same rights.
const maxCounts = 1024

// Lister lists the runs that a scope may read.
type Lister interface {
	List(ctx context.Context, f runs.Filter) (*runs.List, error)
}

// Feed shows the caller the runs that it may read at the time of each message.
type Feed struct {
	next  runs.Feed
	gate  *Gate
	store Lister

	mu     sync.Mutex // held while runs are counted
	at     string     // the message of the counts
	counts map[string]heldCount
}

// heldCount is the answer to a message for all readers with the same rights.
type heldCount struct {
	n    int
	text *runs.Encoded
}

var _ runs.Feed = (*Feed)(nil)

// NewFeed guards a feed.
func NewFeed(next runs.Feed, g *Gate, store Lister) *Feed {
	return &Feed{next: next, gate: g, store: store}
}

// FollowAll decides by the rights that the guard knows, which the code that sets the caller keeps current.
func (f *Feed) FollowAll(ctx context.Context, after string, emit func(runs.FeedUpdate) error) error {
	sent := -1
	return f.next.FollowAll(ctx, after, func(u runs.FeedUpdate) error {
		if u.Run == nil && !u.Held {
			return emit(u)
		}
		s, err := f.gate.Scope(ctx)
		if err != nil {
			return err
		}
		if u.Held {
			c, err := f.held(ctx, s, u.ID)
			if err != nil || c.n == sent {
				return err
			}
			sent, u.Count, u.Text = c.n, c.n, c.text
			return emit(u)
		}
		may := s.All
		if !may {
			may, err = f.gate.May(ctx, access.Read, u.Run.Objects...)
		}
		if err != nil || !may {
			return err
		}
		return emit(u)
	})
}

// held counts the held runs, once for each message and all readers with the same rights.
func (f *Feed) held(ctx context.Context, s access.Scope, message string) (heldCount, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at != message || len(f.counts) >= maxCounts {
		f.at, f.counts = message, map[string]heldCount{}
	}
	key := fmt.Sprintf("%+v", s)
	if c, ok := f.counts[key]; ok {
		return c, nil
	}
	list, err := f.store.List(ctx, runs.HeldRuns(s))
	if err != nil {
		return heldCount{}, err
	}
	c := heldCount{n: list.Total, text: &runs.Encoded{}}
	f.counts[key] = c
	return c, nil
}
