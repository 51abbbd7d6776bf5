package heads

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// believed is how long the newest head and the result for a shown head are cached: the store is read once in that
	// time, however many workers claim.
	believed = time.Second
	// accused is how long the result is cached for a head that the chain does not satisfy and that is already
	// recorded.
	accused = 30 * time.Second
	// withheld is how long no head is returned after a worker showed one that the chain does not satisfy.
	withheld = 2 * time.Minute
	// remembered bounds the number of cached results.
	remembered = 1024
	// candidates bounds how many of the newest stored heads are checked for one that may be returned.
	candidates = 4
	// maxName bounds the name of a worker.
	maxName = 512
)

// Params holds the dependencies of Heads.
type Params struct {
	Install  *install.Install
	Identity audit.IdentityStore
	Anchors  audit.AnchorStore
	Unit     tx.Unit
	Clock    clock.Clock
	Log      *slog.Logger
	Apart    time.Duration // between two satisfied heads of workers that are stored
}

// Heads gives workers the newest head and checks the heads that they show. It is safe for concurrent use.
type Heads struct {
	p Params
	// The goroutine that reads the store holds one of these; others wait for its result.
	telling, looking chan struct{}

	mu       sync.Mutex // guards the members below; never held during a read
	logged   string
	loggedAt time.Time // zero: never
	seen     map[[sha256.Size]byte]sight
	unmetAt  time.Time // when a worker last showed a head that the chain does not satisfy
}

var _ audit.Heads = (*Heads)(nil)

// sight is the cached result for a head that a worker showed.
type sight struct {
	at      time.Time
	unmet   bool
	foreign error
}

// New returns Heads. It reads nothing before the first call.
func New(p Params) *Heads {
	return &Heads{
		p: p, telling: make(chan struct{}, 1), looking: make(chan struct{}, 1), seen: make(map[[sha256.Size]byte]sight),
	}
}

// within reports whether an instant is at most so old. If the clock was set back, the instant counts as older.
func within(at, now time.Time, age time.Duration) bool {
	passed := now.Sub(at)
	return !at.IsZero() && passed >= 0 && passed < age
}

// take waits for the lock.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Heads) Newest(ctx context.Context) (string, error) {
	if note, ok := h.known(); ok {
		return note, nil
	}
	if err := take(ctx, h.telling); err != nil {
		return "", err
	}
	defer func() { <-h.telling }()
	if note, ok := h.known(); ok {
		return note, nil
	}
	note, err := h.newest(ctx)
	if err != nil {
		return "", fmt.Errorf("read the newest head of the audit trail: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logged, h.loggedAt = note, h.p.Clock.Now()
	if within(h.unmetAt, h.loggedAt, withheld) {
		return "", nil
	}
	return note, nil
}

// known returns the cached newest head. It returns none while a shown head contradicts the chain: no worker may
// replace a head that proves the contradiction.
func (h *Heads) known() (string, bool) {
	now := h.p.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if within(h.unmetAt, now, withheld) {
		return "", true
	}
	return h.logged, within(h.loggedAt, now, believed)
}

// newest returns the newest stored head of the open epoch if workers may store it.
func (h *Heads) newest(ctx context.Context) (string, error) {
	// The epochs are read first, together with the keys, so that the heads are not newer than the epochs and keys.
	epochs, err := h.p.Identity.Epochs(ctx)
	if err != nil || len(epochs) == 0 {
		return "", err
	}
	kept, err := h.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{
		Kind: audit.KindCheckpoint, Epoch: epochs[len(epochs)-1].N, Limit: candidates,
	})
	if err != nil || len(kept) == 0 {
		return "", err
	}
	visible, err := h.p.Install.Presented(ctx)
	if err != nil {
		return "", err
	}
	for i := range kept {
		if ok, err := visible.Tells(ctx, &kept[i]); err != nil || ok {
			return kept[i].Note, err
		}
	}
	return "", nil
}

// An Invalid fault names worker, or heads if there are more than audit.HeldHeads.
func (h *Heads) Show(ctx context.Context, worker string, notes []string) error {
	switch {
	case len(notes) == 0:
		return nil
	case len(notes) > audit.HeldHeads:
		return fault.BadField("heads", "a worker shows at most %d", audit.HeldHeads)
	case worker == "" || len(worker) > maxName || !utf8.ValidString(worker) ||
		strings.ContainsFunc(worker, unicode.IsControl):
		return fault.BadField("worker", "a worker that shows heads has a name of 1 to %d bytes", maxName)
	}
	fresh, err := h.unseen(notes)
	if len(fresh) == 0 {
		return err
	}
	if err := take(ctx, h.looking); err != nil {
		return err
	}
	defer func() { <-h.looking }()
	if fresh, err = h.unseen(notes); len(fresh) == 0 {
		return err
	}
	return errors.Join(h.look(ctx, worker, fresh), err)
}

// unseen returns the notes without a cached result, and the fault of foreign notes.
func (h *Heads) unseen(notes []string) (fresh []string, err error) {
	now := h.p.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, note := range notes {
		s, ok := h.seen[sha256.Sum256([]byte(note))]
		age := believed
		if s.unmet {
			age = accused
		}
		switch {
		case !ok || !within(s.at, now, age):
			fresh = append(fresh, note)
		case s.foreign != nil:
			err = s.foreign
		}
	}
	return fresh, err
}

// note caches the result for a head.
func (h *Heads) note(note string, s sight) {
	s.at = h.p.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) >= remembered {
		clear(h.seen)
	}
	h.seen[sha256.Sum256([]byte(note))] = s
	if s.unmet {
		h.unmetAt = s.at
	}
}
