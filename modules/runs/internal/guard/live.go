package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// askAgain is how often a follower's right to a stream is checked again.
const askAgain = 5 * time.Second

// Streamer lets the caller follow the runs that it may read, for as long as it may.
type Streamer struct {
	next runs.Streamer
	gate *Gate
}

var _ runs.Streamer = (*Streamer)(nil)

// NewStreamer guards a streamer.
func NewStreamer(next runs.Streamer, g *Gate) *Streamer { return &Streamer{next: next, gate: g} }

// Follow ends with RunNotFound when the caller loses the right to read the run, also while the stream is silent. It
// ends within askAgain of the moment at which the guard knows of the loss, and emits nothing after that. The code
// that sets the caller keeps the guard's knowledge of it current, so that at most 15 s lie between the loss and the
// end.
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
			whole := u.Run
			if u.Run, err = s.gate.Show(ctx, whole); u.Run != whole {
				u.Text = nil // others see another one
			}
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

// watch checks a right repeatedly. A lost right stays lost, even if it is granted again.
type watch struct {
	read func(context.Context) error
	due  atomic.Bool // the next caller checks the right

	mu  sync.Mutex
	err error
}

// poll checks the right every askAgain. It returns when the right is lost or ctx ends.
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

// look checks the right if a check is due, and returns the reason if it is lost. Concurrent callers wait for one
// check and share its result.
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

// lost returns the reason of the last check if the right is lost, otherwise nil.
func (w *watch) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Tickets mints tickets for the streams that the caller may follow.
type Tickets struct {
	next runs.Tickets
	gate *Gate
}

var _ runs.Tickets = (*Tickets)(nil)

// NewTickets guards tickets.
func NewTickets(next runs.Tickets, g *Gate) *Tickets { return &Tickets{next: next, gate: g} }

func (t *Tickets) Mint(ctx context.Context, runID string) (string, error) {
	if runID == runs.FeedTicket {
		return t.next.Mint(ctx, runID)
	}
	if err := t.gate.Read(ctx, runID); err != nil {
		return "", err
	}
	return t.next.Mint(ctx, runID)
}

// Redeem checks no right, since the ticket identifies the caller. The stream checks the account and the token that
// the ticket names.
func (t *Tickets) Redeem(ctx context.Context, ticket, runID string) (runs.TicketOwner, error) {
	return t.next.Redeem(ctx, ticket, runID)
}
