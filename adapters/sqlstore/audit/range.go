package audit

import (
	"context"
	"fmt"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// Range uses raw SQL because chains have millions of entries: the scan targets are allocated once, and the text stays
// prepared.

const (
	// windowRows bounds the sequence numbers of one read, and windowBytes the bytes of their entries.
	windowRows  = 512
	windowBytes = 1 << 20
	// ahead bounds the concurrent windows outside of a unit; a transaction reads one at a time.
	ahead = 2
)

// window is a part of the chain during a read.
type window struct {
	from, end int64
	scanner   *scanner
	entries   []audit.Stored
	full      bool // the byte limit is reached: more entries up to end may follow
	err       error
	done      chan struct{} // has one value after the window was read
}

// rangeRead is one call of Range.
type rangeRead struct {
	q        bun.IDB
	parallel bool // whether windows are read in parallel
	private  bool
	to       int64
	next     int64 // the start of the next window
	over     bool  // no further window

	running sync.WaitGroup
	queue   []*window // windows being read, in their order
	idle    []*window
}

// No database resource is held while fn runs. Outside of a unit the next window is read while fn processes one; all
// reads end before Range returns.
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

// take starts reads until enough are running and returns the first window when it is read, or nil at the end.
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

// window returns an unused window.
func (r *rangeRead) window() *window {
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return w
	}
	return &window{scanner: newScanner(r.private), done: make(chan struct{}, 1)}
}

// fill reads the window from its start up to the byte limit.
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

// yield calls fn with every entry of a window. If the byte limit was reached, it reads the rest in between.
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

// resume continues at a missing entry: at a hole, or at the end of the chain when the window was read. Later windows
// may be from a longer chain, so they are read again.
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
