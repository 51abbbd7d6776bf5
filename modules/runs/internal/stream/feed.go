package stream

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the feed: how many messages it holds, how often it reads changed runs, how many of them it reads at a time,
// and how many reads it goes on without readers, so that one that comes back misses nothing.
const (
	feedHolds   = 4096
	feedEvery   = 250 * time.Millisecond
	feedBatch   = 500
	feedLinger  = 240
	feedWaiting = 20_000
	heldEvery   = 4 // reads between two counts of the held runs
)

// Feed reads each changed run once for all readers of the process. A reader is a position in what the feed holds, so
// that a slow one takes no memory.
type Feed struct {
	store runs.Store
	name  string // of this feed in positions: those of another process or start are unknown

	mu      sync.Mutex
	held    []runs.FeedUpdate // the newest messages
	next    int64             // the number of the next message
	readers int
	idle    int           // reads without readers
	added   chan struct{} // closed with the next message

	waiting heldRuns // of the goroutine that watches
}

// heldRuns is what the feed knows of the runs that are held for an approval.
type heldRuns struct {
	count   int
	due     bool // a run was made or changed
	entered bool // a run was held
	reads   int  // since the last count
}

var _ runs.Feed = (*Feed)(nil)

// NewFeed returns a feed without messages.
func NewFeed(store runs.Store) *Feed {
	return &Feed{store: store, name: rand.Text()[:8], idle: feedLinger, added: make(chan struct{})}
}

// Watch adds the runs that change, in this and in other processes, until ctx ends.
func (f *Feed) Watch(ctx context.Context, signals events.Signals) error {
	ch, stop := signals.Watch(events.TopicRun)
	defer stop()
	tick := time.NewTicker(feedEvery)
	defer tick.Stop()
	if f.begun() {
		f.add(runs.FeedUpdate{Reset: true}) // changes since the last watch are unknown
	}
	var order []string
	waiting := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case id, open := <-ch:
			switch {
			case !open:
				return nil
			case id == "" || len(order) >= feedWaiting:
				order, waiting = nil, map[string]bool{}
				f.add(runs.FeedUpdate{Reset: true})
			case !waiting[id]:
				order, waiting[id] = append(order, id), true
			}
		case <-tick.C:
			batch := order[:min(len(order), feedBatch)]
			order = append([]string(nil), order[len(batch):]...)
			for _, id := range batch {
				delete(waiting, id)
			}
			if err := f.read(ctx, batch); err != nil {
				f.add(runs.FeedUpdate{Reset: true})
				return err
			}
			if err := f.countHeld(ctx); err != nil {
				return err
			}
		}
	}
}

// read adds changed runs, unless nobody has read the feed for a while.
func (f *Feed) read(ctx context.Context, ids []string) error {
	if !f.wanted(len(ids) > 0) {
		return nil
	}
	for _, id := range ids {
		r, err := f.store.ByID(ctx, id)
		if runs.RunNotFound.Is(err) {
			continue
		}
		if err != nil {
			return err
		}
		f.add(runs.FeedUpdate{Run: record.Redact(r)})
		f.waiting.due = true
		f.waiting.entered = f.waiting.entered || r.Status == runs.PendingApproval
	}
	return nil
}

// countHeld adds a message if a run was held, or another number of runs is held than before.
func (f *Feed) countHeld(ctx context.Context) error {
	h := &f.waiting
	if h.reads++; !h.due || h.reads < heldEvery {
		return nil
	}
	list, err := f.store.List(ctx, runs.HeldRuns(access.Everything()))
	if err != nil {
		return err
	}
	if h.entered || list.Total != h.count {
		f.add(runs.FeedUpdate{Held: true})
	}
	*h = heldRuns{count: list.Total}
	return nil
}

// wanted reports whether there are readers, or were until lately. Messages that are not read leave a gap.
func (f *Feed) wanted(changes bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers > 0 {
		f.idle = 0
		return true
	}
	if f.idle < feedLinger {
		f.idle++
		return true
	}
	if changes {
		f.held, f.next = nil, f.next+1
	}
	return false
}

func (f *Feed) add(u runs.FeedUpdate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u.ID, u.Text = f.position(f.next), &runs.Encoded{}
	f.next++
	if f.held = append(f.held, u); len(f.held) >= 2*feedHolds {
		f.held = append([]runs.FeedUpdate(nil), f.held[len(f.held)-feedHolds:]...)
	}
	close(f.added)
	f.added = make(chan struct{})
}

// position names the place after a message.
func (f *Feed) position(n int64) string { return f.name + "-" + strconv.FormatInt(n, 10) }

// begin counts a reader and returns the number of its next message, and what it gets first.
func (f *Feed) begin(after string) (next int64, first runs.FeedUpdate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
	here := runs.FeedUpdate{ID: f.position(f.next - 1), Ready: after == "", Reset: after != "", Text: &runs.Encoded{}}
	name, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if name != f.name || err != nil || n >= f.next || n+1 < f.next-int64(len(f.held)) {
		return f.next, here
	}
	return n + 1, runs.FeedUpdate{}
}

func (f *Feed) begun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next > 0 || f.readers > 0
}

func (f *Feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
}

// take returns the messages from a number on, and a channel that is closed when there are more.
func (f *Feed) take(next int64) (list []runs.FeedUpdate, last int64, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if behind := f.next - int64(len(f.held)); next < behind {
		return []runs.FeedUpdate{{ID: f.position(f.next - 1), Reset: true, Text: &runs.Encoded{}}}, f.next, f.added
	}
	return f.held[len(f.held)-int(f.next-next):], f.next, f.added
}

func (f *Feed) FollowAll(ctx context.Context, after string, emit func(runs.FeedUpdate) error) error {
	next, first := f.begin(after)
	defer f.end()
	if first.ID != "" {
		if err := emit(first); err != nil {
			return err
		}
	}
	for {
		list, last, more := f.take(next)
		for _, u := range list {
			if err := emit(u); err != nil {
				return err
			}
		}
		next = last
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}
