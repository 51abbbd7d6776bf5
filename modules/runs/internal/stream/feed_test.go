package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// counted counts how often runs are read. The run "gone" does not exist.
type counted struct {
	runs.Store
	reads atomic.Int64
	held  atomic.Int64 // the runs that are held
	lists atomic.Int64
}

func (c *counted) List(context.Context, runs.Filter) (*runs.List, error) {
	c.lists.Add(1)
	return &runs.List{Total: int(c.held.Load())}, nil
}

func (c *counted) ByID(_ context.Context, id string) (*runs.Run, error) {
	if id == "gone" {
		return nil, runs.RunNotFound.New("no run")
	}
	r := &runs.Run{ID: id, Revision: c.reads.Add(1)}
	if id == "held" {
		r.Status = runs.PendingApproval
	}
	return r, nil
}

// wakes are signals that a test sends.
type wakes struct{ ch chan string }

func (wakes) Signal(context.Context, string, string) error   { return nil }
func (w wakes) Watch(string) (ch <-chan string, stop func()) { return w.ch, func() {} }

var _ events.Signals = wakes{}

// reader follows a feed and keeps what it gets, as letters.
type reader struct {
	got  []string
	last string
}

func (r *reader) emit(u runs.FeedUpdate) error {
	r.last = u.ID
	switch {
	case u.Run != nil:
		r.got = append(r.got, u.Run.ID)
	case u.Reset:
		r.got = append(r.got, "reset")
	case u.Held:
		r.got = append(r.got, "count")
	case u.Ready:
		r.got = append(r.got, "ready")
	}
	return nil
}

// follow lets a reader follow until its end is called.
func follow(t *testing.T, f *Feed, after string) (r *reader, end func()) {
	t.Helper()
	r = &reader{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.FollowAll(ctx, after, r.emit); !errors.Is(err, context.Canceled) {
			t.Errorf("the feed ends with %v", err)
		}
	}()
	return r, func() { cancel(); <-done }
}

// feeding runs a test with a feed that is watched. Its clock is that of the bubble.
func feeding(t *testing.T, test func(t *testing.T, f *Feed, s *counted, wake func(ids ...string))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, w := &counted{}, wakes{make(chan string, 100)}
		f := NewFeed(s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := f.Watch(ctx, w); err != nil {
				t.Error(err)
			}
		}()
		defer func() { cancel(); <-done }()
		synctest.Wait()
		test(t, f, s, func(ids ...string) {
			for _, id := range ids {
				w.ch <- id
			}
			time.Sleep(2 * feedEvery)
			synctest.Wait()
		})
	})
}

func want(t *testing.T, what string, r *reader, messages string) {
	t.Helper()
	if got := strings.Join(r.got, " "); got != messages {
		t.Errorf("%s: %q, want %q", what, got, messages)
	}
}

func TestFeedReadsARunOnceForAll(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, f *Feed, s *counted, wake func(...string)) {
		var all []*reader
		for range 50 {
			r, end := follow(t, f, "")
			defer end()
			all = append(all, r)
		}
		synctest.Wait()
		wake("a", "a", "b", "a", "gone")
		wake("a")
		for _, r := range all {
			want(t, "a reader", r, "ready a b a")
		}
		if n := s.reads.Load(); n != 3 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestFeedContinues(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, f *Feed, s *counted, wake func(...string)) {
		r, end := follow(t, f, "")
		synctest.Wait()
		wake("a")
		end()
		wake("b") // soon after the last reader
		again, end := follow(t, f, r.last)
		synctest.Wait()
		want(t, "who comes back", again, "b")
		wake("c", "")
		want(t, "after lost signals", again, "b reset")
		end()
		for _, after := range []string{"x-1", f.name + "-99", f.name + "-x", "nonsense", f.name} {
			r, end := follow(t, f, after)
			synctest.Wait()
			end()
			want(t, after, r, "reset")
		}
		time.Sleep(feedLinger*feedEvery + time.Second)
		reads := s.reads.Load()
		wake("d")
		if s.reads.Load() != reads {
			t.Error("a run is read for nobody")
		}
		late, end := follow(t, f, again.last)
		synctest.Wait()
		end()
		want(t, "who comes back too late", late, "reset")
	})
}

// TestFeedIsBounded: a reader that does not keep up gets a reset, and the feed holds no more for it.
func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	f := NewFeed(&counted{})
	first := f.position(0)
	for i := range 5 * feedHolds {
		f.add(runs.FeedUpdate{Run: &runs.Run{ID: strconv.Itoa(i)}})
	}
	if n := len(f.held); n > 2*feedHolds {
		t.Errorf("%d messages are held", n)
	}
	if _, u := f.begin(first); !u.Reset {
		t.Errorf("an old position: %+v", u)
	}
	list, last, _ := f.take(1)
	if len(list) != 1 || !list[0].Reset || last != 5*feedHolds {
		t.Errorf("%d messages to %d", len(list), last)
	}
	if list, _, _ = f.take(5*feedHolds - 2); len(list) != 2 || list[1].Run.ID != fmt.Sprint(5*feedHolds-1) {
		t.Errorf("the newest are %+v", list)
	}
}

// TestFeedCountsHeldRuns adds a message when a run is held, also if another one no longer is, and when fewer are held,
// but not for other runs, and counts at most once a second.
func TestFeedCountsHeldRuns(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, f *Feed, s *counted, wake func(...string)) {
		r, end := follow(t, f, "")
		defer end()
		synctest.Wait()
		for _, c := range []struct {
			held  int64
			run   string
			added string
		}{{0, "a", "a"}, {1, "held", "held count"}, {1, "held", "held count"}, {1, "b", "b"}, {0, "c", "c count"}} {
			s.held.Store(c.held)
			r.got = nil
			wake(c.run)
			time.Sleep(2 * heldEvery * feedEvery)
			synctest.Wait()
			want(t, c.run, r, c.added)
		}
		lists := s.lists.Load()
		for range 10 {
			wake("a", "held")
		}
		if n := s.lists.Load() - lists; n > 2*10/heldEvery+1 {
			t.Errorf("%d counts", n)
		}
	})
}
