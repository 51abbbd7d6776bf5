package heads_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryStore keeps heads in memory.
type memoryStore struct {
	mu     sync.Mutex
	notes  map[string]string // by origin
	unread error
}

func newMemoryStore(notes ...string) *memoryStore {
	s := &memoryStore{notes: make(map[string]string)}
	for _, n := range notes {
		if err := s.Save(n); err != nil {
			panic(err)
		}
	}
	return s
}

func (s *memoryStore) Notes() (out []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		out = append(out, n)
	}
	return out, s.unread
}

func (s *memoryStore) Save(note string) error {
	made, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return fault.BadField("head", "%s", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.notes[made.Origin]
	if !ok && len(s.notes) == audit.HeldHeads {
		return nil
	}
	if kept, err := checkpoint.Parse([]byte(before)); err != nil || kept.Size < made.Size {
		s.notes[made.Origin] = note
	}
	return nil
}

// size returns the size of the largest head in the store.
func (s *memoryStore) size() (n int64) {
	notes, _ := s.Notes()
	for _, note := range notes {
		if parsed, err := checkpoint.Parse([]byte(note)); err == nil {
			n = max(n, parsed.Size)
		}
	}
	return n
}

func TestMemoryHeadStoreConforms(t *testing.T) {
	t.Parallel()
	audittest.HeadStore(t, func(*testing.T) (first, again audit.HeadStore) { s := newMemoryStore(); return s, s })
}

// headsOf records the calls and returns configured results.
type trailHeads struct {
	mu     sync.Mutex
	calls  []string
	newest string
	errNew error
	errOf  error
	onShow func()
	hangs  bool
}

func (h *trailHeads) Newest(ctx context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hangs {
		<-ctx.Done()
		return "", ctx.Err()
	}
	h.calls = append(h.calls, "newest")
	return h.newest, h.errNew
}

func (h *trailHeads) Show(_ context.Context, worker string, notes []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf("show %d by %s", len(notes), worker))
	if h.onShow != nil {
		h.onShow()
	}
	return h.errOf
}

// set changes the results.
func (h *trailHeads) set(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

// asked returns the calls since its last call.
func (h *trailHeads) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

// messages counts the logged messages by level.
type messages struct {
	slog.Handler
	mu sync.Mutex
	n  map[slog.Level]int
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[r.Level]++
	return nil
}

func (m *messages) of(l slog.Level) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[l]
}

func down() error {
	return fault.Wrap(fault.Unavailable, errors.New("connection refused"), "the database cannot be reached")
}
