package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// askAgain is how often a follower's right to a stream is looked at again.
const askAgain = 5 * time.Second

// Streamer lets the caller follow the runs that it may read, for as long as it may.
type Streamer struct {
	next runs.Streamer
	gate *Gate
}

var _ runs.Streamer = (*Streamer)(nil)

// NewStreamer guards a streamer.
func NewStreamer(next runs.Streamer, g *Gate) *Streamer { return &Streamer{next: next, gate: g} }

// A right that is lost while the run is followed ends the stream with RunNotFound, told or silent: within askAgain of
// the moment at which the guard knows, and nothing that comes after that is told. Whoever brings the caller keeps
// what the guard knows current, so that 15 s lie between the loss and the end at the most.
func (s *Streamer) Follow(ctx context.Context, id string, after, logOffset int64, emit func(runs.Update) error) error {
	w := &watch{read: s.gate.ReadCheck(id)}
	w.due.Store(true)
	if err := w.look(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		w.poll(ctx)
	}()
	err := s.next.Follow(ctx, id, after, logOffset, func(u runs.Update) error {
		err := w.look(ctx)
		if err == nil {
			u.Run, err = s.gate.Show(ctx, u.Run)
		}
		if err != nil {
			return err
		}
		return emit(u)
	})
	cancel()
	<-watched
	if lost := w.lost(); err != nil && lost != nil {
		return lost
	}
	return err
}

// watch looks at a right again and again. What it finds stands: a right that was lost does not come back.
type watch struct {
	read func(context.Context) error
	due  atomic.Bool // the next one who comes looks

	mu  sync.Mutex
	err error
}

// poll makes a look due every askAgain, and looks itself where nobody else does. It returns where the right is lost
// or ctx ends.
func (w *watch) poll(ctx context.Context) {
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.due.Store(true)
		if w.look(ctx) != nil {
			return
		}
	}
}

// look returns why the right is lost. While one looks, the others wait for what it finds.
func (w *watch) look(ctx context.Context) error {
	if !w.due.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || !w.due.Load() {
		return w.err
	}
	if w.err = w.read(ctx); w.err == nil {
		w.due.Store(false)
	}
	return w.err
}

// lost returns why the right was found lost.
func (w *watch) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Tickets mints keys to the streams that the caller may follow.
type Tickets struct {
	next runs.Tickets
	gate *Gate
}

var _ runs.Tickets = (*Tickets)(nil)

// NewTickets guards tickets.
func NewTickets(next runs.Tickets, g *Gate) *Tickets { return &Tickets{next: next, gate: g} }

func (t *Tickets) Mint(ctx context.Context, runID string) (string, error) {
	if err := t.gate.Read(ctx, runID); err != nil {
		return "", err
	}
	return t.next.Mint(ctx, runID)
}

// Redeem asks for no right: the ticket is how the caller becomes known. The stream asks about the account and the
// token that the ticket names.
func (t *Tickets) Redeem(ctx context.Context, ticket, runID string) (runs.TicketOwner, error) {
	return t.next.Redeem(ctx, ticket, runID)
}
