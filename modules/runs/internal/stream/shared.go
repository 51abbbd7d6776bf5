package stream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of what the followers of a run share: encoded updates, the bytes that they encode, and deltas.
const (
	maxTexts     = 512
	maxTextBytes = 1 << 20
	maxDeltas    = 4
)

// kinds of updates that are encoded once.
const (
	eventText = iota
	logText
	deltaText
)

// textKey names an update of a run: its event, its bytes of the log, or the revisions and the order of a delta. Updates
// of one name are the same.
type textKey struct {
	kind            int
	from, to, order int64
}

// texts holds the encoded updates that were sent last.
type texts struct {
	mu    sync.Mutex
	held  map[textKey]*runs.Encoded
	queue []textSize // the oldest first
	bytes int
}

type textSize struct {
	key   textKey
	bytes int
}

func (t *texts) get(k textKey, bytes int) *runs.Encoded {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.held[k]; e != nil {
		return e
	}
	if t.held == nil {
		t.held = map[textKey]*runs.Encoded{}
	}
	e := &runs.Encoded{}
	t.held[k], t.queue, t.bytes = e, append(t.queue, textSize{k, bytes}), t.bytes+bytes
	for len(t.queue) > 1 && (len(t.queue) > maxTexts || t.bytes > maxTextBytes) {
		delete(t.held, t.queue[0].key)
		t.bytes -= t.queue[0].bytes
		t.queue = t.queue[1:]
	}
	return e
}

// text returns the place of an update's text for all followers, or nil for a lone follower.
func (s *Sub) text(k textKey, bytes int) *runs.Encoded {
	if s.feed.followers.Load() < 2 {
		return nil
	}
	return s.feed.texts.get(k, bytes)
}

// reading is a record that one follower has read for all.
type reading struct {
	n       int64 // of the reading
	changes int64 // that were announced before it
	run     *runs.Run
	shown   *runs.Run // as readers may see it
	text    *runs.Encoded
}

// readings shares the readings of a record.
type readings struct {
	mu      sync.Mutex // held while a follower reads
	last    reading
	changes atomic.Int64 // that were announced
}

// record returns a record that is newer than the reading with number n and than all changes that were announced. For 0
// it reads the store. If the run has got more output or events, the other followers learn of it too.
func (s *Sub) record(ctx context.Context, store runs.Store, n int64) (reading, error) {
	all := &s.feed.readings
	all.mu.Lock()
	defer all.mu.Unlock()
	s.TakeStale() // before the changes are counted: one that is announced later makes the record stale again
	changes := all.changes.Load()
	if n > 0 && all.last.n > n && all.last.changes == changes {
		return all.last, nil
	}
	r, err := store.ByID(ctx, s.id)
	if err != nil {
		return reading{}, err
	}
	old := all.last.run
	all.last = reading{n: all.last.n + 1, changes: changes, run: r, shown: record.Redact(r), text: &runs.Encoded{}}
	if old != nil && (old.EventCount != r.EventCount || old.LogBytes != r.LogBytes || old.Revision != r.Revision) {
		s.hub.wakeOthers(s)
	}
	return all.last, nil
}

// Bounds of the time between two announcements of output and events to many followers, which each of them writes for
// itself. It grows with the square of their number, so that their writes together become fewer: 12 ms for 50, and
// 200 ms for 200. A few are not held up, nor is what comes after a while of silence. joined is how much output is one
// update.
const (
	crowd     = 16
	crowdUnit = 5 * time.Microsecond
	crowdMost = 250 * time.Millisecond
	joined    = 64 << 10
)

// pace announces what many followers get, for all at the same time, so that they share the texts.
type pace struct {
	timer *time.Timer // since the last announcement
	more  bool        // since then
}

// announce wakes the followers that there is more. The caller holds the lock of the hub.
func (f *feed) announce(h *Hub) {
	n := f.followers.Load()
	switch {
	case f.pace.timer != nil:
		f.pace.more = true
	case n < crowd:
		f.notify(false)
	default:
		f.notify(false)
		f.pace.timer = time.AfterFunc(min(time.Duration(n*n)*crowdUnit, crowdMost), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			more := f.pace.more
			if f.pace = (pace{}); more {
				f.announce(h)
			}
		})
	}
}

// join makes longer pieces of the output. It changes none of the given ones, which are shared.
func join(log []runs.LogChunk) []runs.LogChunk {
	var out []runs.LogChunk
	own := false // the last piece is a copy
	for _, c := range log {
		n := len(out) - 1
		if n < 0 || out[n].Offset+int64(len(out[n].Data)) != c.Offset || len(out[n].Data)+len(c.Data) > joined {
			out, own = append(out, c), false
			continue
		}
		if !own {
			out[n].Data, own = slices.Clone(out[n].Data), true
		}
		out[n].Data = append(out[n].Data, c.Data...)
	}
	return out
}

// deltas holds the deltas that were made last.
type deltas struct {
	mu   sync.Mutex // held while a follower makes one
	held []madeDelta
}

type madeDelta struct {
	rev, order int64 // of those who asked
	delta      *runs.MatrixDelta
}

// delta returns what the followers at the same place of a matrix got already, if that includes upTo. Parents change
// without events of their own, so that each of their deltas is made anew.
func (s *Sub) delta(ctx context.Context, d Deltas, r *runs.Run, rev, order, upTo int64) (*runs.MatrixDelta, error) {
	if r.Kind.Parent() || s.feed.followers.Load() < 2 {
		return d.Delta(ctx, r, rev, order, upTo)
	}
	all := &s.feed.deltas
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, m := range all.held {
		if m.rev == rev && m.order == order && m.delta.Rev >= upTo {
			return m.delta, nil
		}
	}
	out, err := d.Delta(ctx, r, rev, order, upTo)
	if err == nil && out != nil {
		all.held = append(all.held[max(0, len(all.held)-maxDeltas+1):], madeDelta{rev, order, out})
	}
	return out, err
}
