package audit

import (
	"context"
	"fmt"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// The chain is read by raw SQL because a million entries are: their targets are made once, and the text is kept
// prepared.

const (
	// windowRows is how many sequence numbers are read at once, and windowBytes how many bytes of their entries.
	windowRows  = 512
	windowBytes = 1 << 20
	// ahead is how many windows are under way at once outside of a unit, whose transaction serves one at a time.
	ahead = 2
)

// window is a stretch of the chain as it is read.
type window struct {
	from, end int64
	scanner   *scanner
	entries   []audit.Stored
	full      bool // as many bytes are held as may be: there can be more up to end
	err       error
	done      chan struct{} // holds one value once the window was read
}

// rangeRead is one call of Range.
type rangeRead struct {
	q        bun.IDB
	parallel bool // whether windows are read in parallel
	private  bool
	to       int64
	next     int64 // where the next window begins
	over     bool  // no window is left to begin

	running sync.WaitGroup
	queue   []*window // being read, in their order
	idle    []*window
}

// Nothing of the database is held by what fn was called with. Outside of a unit the
// next window is read while fn works on one; nothing of that goes on once Range has returned.
func (s *Store) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	_, alone := s.d.Write(ctx)
	r := &rangeRead{q: s.d.Read(ctx), parallel: alone != nil, private: private, to: to, next: from, over: from > to}
	defer r.running.Wait()
	for {
		w := r.take(ctx)
		if w == nil {
			return nil
		}
		if err := r.yield(ctx, w, fn); err != nil {
			return err
		}
		r.idle = append(r.idle, w)
	}
}

// take begins to read windows until enough are under way and returns the first of them once it is read, nil at the end.
func (r *rangeRead) take(ctx context.Context) *window {
	want := 1
	if r.parallel {
		want = ahead
	}
	for len(r.queue) < want && !r.over {
		w := r.window()
		w.from, w.end = r.next, r.to
		if uint64(r.to)-uint64(r.next) >= windowRows {
			w.end = r.next + windowRows - 1
		}
		r.next, r.over = w.end+1, w.end == r.to
		r.queue = append(r.queue, w)
		if r.parallel {
			r.running.Go(func() { r.fill(ctx, w) })
		} else {
			r.fill(ctx, w)
		}
	}
	if len(r.queue) == 0 {
		return nil
	}
	w := r.queue[0]
	r.queue = append(r.queue[:0], r.queue[1:]...)
	<-w.done
	return w
}

// window returns one that nobody uses.
func (r *rangeRead) window() *window {
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return w
	}
	return &window{scanner: newScanner(r.private), done: make(chan struct{}, 1)}
}

// fill reads the window from its beginning, or as much of it as is held in memory.
func (r *rangeRead) fill(ctx context.Context, w *window) {
	w.entries, w.full, w.err = w.entries[:0], false, nil
	if ok := false; !r.private && w.end-w.from >= worthJoining {
		if w.entries, ok, w.err = readJoined(ctx, r.q, w.entries, w.from, w.end); ok || w.err != nil {
			w.done <- struct{}{}
			return
		}
	}
	query, args := rangePublic, []any{w.from, w.end}
	if r.private {
		query, args = rangePrivate, []any{w.from, w.end, w.from, w.end}
	}
	w.entries, w.full, w.err = read(ctx, r.q, w.scanner, w.entries, windowBytes, query, args...)
	w.done <- struct{}{}
}

// yield calls fn with every entry of a window. Of one with large entries the rest is read on the way.
func (r *rangeRead) yield(ctx context.Context, w *window, fn func(e *audit.Stored) error) error {
	for {
		if w.err != nil {
			return fmt.Errorf("read the chain from %d: %w", w.from, w.err)
		}
		for i := range w.entries {
			next := w.entries[i].Seq + 1
			if err := fn(&w.entries[i]); err != nil {
				return err
			}
			w.from = next
		}
		if w.from == w.end+1 {
			return nil
		}
		if !w.full {
			return r.resume(ctx, w.from)
		}
		r.fill(ctx, w)
		<-w.done
	}
}

// resume goes on where an entry is missing: at a hole, or where the chain ended when the window was read. Later windows
// were perhaps read when it was longer, so they are read again.
func (r *rangeRead) resume(ctx context.Context, from int64) error {
	for _, w := range r.queue {
		<-w.done
	}
	r.idle, r.queue = append(r.idle, r.queue...), r.queue[:0]
	seq, ok, err := db.QueryRow[int64](ctx, r.q, "SELECT seq FROM audit_entries WHERE seq >= ? ORDER BY seq LIMIT 1", from)
	if err != nil {
		return fmt.Errorf("read the chain from %d: %w", from, err)
	}
	r.next, r.over = seq, !ok || seq > r.to
	return nil
}
