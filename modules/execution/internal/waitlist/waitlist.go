// Package waitlist is where claims wait for runs. Of those that wait for the same queues one is woken at a time: when
// it finds a run it wakes the next, so that many who wait cost no more than few.
package waitlist

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// pollEvery is how often somebody looks for a run without a signal, which may get lost.
const pollEvery = time.Second

// List holds those who wait. It is safe for concurrent use.
type List struct {
	signals events.Signals // nil: nothing but the clock wakes
	max     int
	done    chan struct{}
	watcher sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	watching bool
	n        int
	waiters  map[string][]*Waiter // by queues, the longest wait first
}

// Waiter is that of one who waits.
type Waiter struct {
	list   *List
	key    string
	queues []string
	woken  chan struct{}
}

// New returns a line of at most so many places.
func New(s events.Signals, most int) *List {
	return &List{signals: s, max: most, done: make(chan struct{}), waiters: make(map[string][]*Waiter)}
}

// Join takes a place for queues. What becomes claimable from then on wakes it, unless it wakes another of the same
// queues. It is Unavailable where the line is full or closed.
func (l *List) Join(queues []string) (*Waiter, error) {
	sorted := slices.Clone(queues)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "the server is stopping"}
	case l.n >= l.max:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "too many workers wait for runs", RetryAfter: pollEvery}
	}
	if !l.watching {
		l.watching = true
		l.watch()
	}
	p := &Waiter{list: l, key: strings.Join(sorted, "\n"), queues: sorted, woken: make(chan struct{}, 1)}
	l.waiters[p.key] = append(l.waiters[p.key], p)
	l.n++
	return p, nil
}

// Woken delivers a token whenever there is a reason to look.
func (p *Waiter) Woken() <-chan struct{} { return p.woken }

// Leave gives the place up. A token that was not used goes to another.
func (p *Waiter) Leave() {
	l := p.list
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.waiters[p.key]
	i := slices.Index(list, p)
	if i < 0 {
		return
	}
	l.n--
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(l.waiters, p.key)
	} else {
		l.waiters[p.key] = list
	}
	select {
	case <-p.woken:
		wake(list)
	default:
	}
}

// Wake gives a token to one of those who wait for a queue, and to one for each other set of queues with it. The empty
// name is every queue.
func (l *List) Wake(queue string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiters {
		if _, ok := slices.BinarySearch(list[0].queues, queue); ok || queue == "" {
			wake(list)
		}
	}
}

// wake gives a token to the first that has none.
func wake(list []*Waiter) {
	for _, p := range list {
		select {
		case p.woken <- struct{}{}:
			return
		default:
		}
	}
}

// Done is closed when the line is.
func (l *List) Done() <-chan struct{} { return l.done }

// Close lets nobody wait any more, and returns when nothing of the line runs.
func (l *List) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	l.mu.Unlock()
	l.watcher.Wait()
}

// watch starts what wakes: signals are watched when it returns.
func (l *List) watch() {
	var signals <-chan string
	stop := func() {}
	if l.signals != nil {
		signals, stop = l.signals.Watch(events.TopicQueue)
	}
	l.watcher.Go(func() {
		defer stop()
		t := time.NewTicker(pollEvery)
		defer t.Stop()
		for {
			select {
			case <-l.done:
				return
			case queue := <-signals:
				l.Wake(queue)
			case <-t.C:
				l.Wake("")
			}
		}
	})
}
