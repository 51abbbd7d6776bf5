package relay

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// pollEvery is how often one claim looks for a run without a signal, since signals can get lost.
const pollEvery = time.Second

// waitList holds the claims that wait for runs. It wakes one claim at a time of those with the same queues; a claim
// that finds a run wakes the next, so that a new run costs one look and not one per claim. It is safe for concurrent
// use.
type waitList struct {
	signals events.Signals // nil: only the clock wakes
	max     int
	closing chan struct{}
	watcher sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	watching bool
	n        int
	waiters  map[string][]*waiter // by queues, the longest wait first
}

// waiter is the place of one claim.
type waiter struct {
	list   *waitList
	key    string
	queues []string
	token  chan struct{}
}

// newWaitList returns a list with at most so many entries.
func newWaitList(s events.Signals, most int) *waitList {
	return &waitList{signals: s, max: most, closing: make(chan struct{}), waiters: make(map[string][]*waiter)}
}

// join adds an entry for queues. A run that becomes claimable afterwards wakes it or another entry with the same
// queues. An Unavailable fault reports that the list is full or closed.
func (l *waitList) join(queues []string) (*waiter, error) {
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
	p := &waiter{list: l, key: strings.Join(sorted, "\n"), queues: sorted, token: make(chan struct{}, 1)}
	l.waiters[p.key] = append(l.waiters[p.key], p)
	l.n++
	return p, nil
}

// woken delivers a token whenever there may be a run.
func (p *waiter) woken() <-chan struct{} { return p.token }

// leave removes the entry. An unused token goes to the next entry with the same queues.
func (p *waiter) leave() {
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
	case <-p.token:
		wakeFirst(list)
	default:
	}
}

// wake gives a token to one entry of each set of queues that contains the queue. The empty name means every queue.
func (l *waitList) wake(queue string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiters {
		if _, ok := slices.BinarySearch(list[0].queues, queue); ok || queue == "" {
			wakeFirst(list)
		}
	}
}

// wakeAll gives a token to every entry without one.
func (l *waitList) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiters {
		for _, p := range list {
			wakeFirst([]*waiter{p})
		}
	}
}

// wakeFirst gives a token to the first entry without one.
func wakeFirst(list []*waiter) {
	for _, p := range list {
		select {
		case p.token <- struct{}{}:
			return
		default:
		}
	}
}

// done returns a channel that is closed with the list.
func (l *waitList) done() <-chan struct{} { return l.closing }

// close ends every wait, and returns when the watcher has ended.
func (l *waitList) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	l.mu.Unlock()
	l.watcher.Wait()
}

// watch starts the watcher. It watches signals before it returns, so that none is missed.
func (l *waitList) watch() {
	var signals, revoked <-chan string
	stop, end := func() {}, func() {}
	if l.signals != nil {
		signals, stop = l.signals.Watch(events.TopicQueue)
		revoked, end = l.signals.Watch(events.TopicWorker)
	}
	l.watcher.Go(func() {
		defer stop()
		defer end()
		t := time.NewTicker(pollEvery)
		defer t.Stop()
		for {
			select {
			case <-l.closing:
				return
			case queue := <-signals:
				l.wake(queue)
			case <-revoked:
				l.wakeAll()
			case <-t.C:
				l.wake("")
			}
		}
	})
}
