package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// every is the pause between two passes.
	every = 10 * time.Second
	// batch is how many leases are taken at once, and batches how often a pass takes some.
	batch   = 50
	batches = 10
	// hold is for how long a lease that was taken is left alone: longer than a batch takes, and long enough that the attempts outlast
	// an engine that is away for most of an hour.
	hold = 5 * time.Minute
)

// Sweeper revokes what is left behind: leases whose owner is done with them, and those that could not be revoked at once.
type Sweeper struct {
	book *Book

	mu   sync.Mutex
	stop context.CancelFunc
	over bool
	work sync.WaitGroup
}

// NewSweeper returns a sweeper; Start begins its work.
func NewSweeper(b *Book) *Sweeper { return &Sweeper{book: b} }

// Start begins the work with a pass. It does nothing where it has begun, or after Stop.
func (s *Sweeper) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil || s.over {
		return
	}
	ctx, cancel := context.WithCancel(context.Background()) // the work outlives the call that started it; Stop ends it
	s.stop = cancel
	s.work.Go(func() { s.loop(ctx) })
}

// Stop ends the work, revokes what only this process can revoke as far as ctx allows, and returns when no call of an engine is under way
// any more, or when ctx ends.
func (s *Sweeper) Stop(ctx context.Context) error {
	s.mu.Lock()
	stop := s.stop
	s.stop, s.over = nil, true
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.work.Wait()
	s.book.GiveBack(ctx, s.book.due(true))
	if err := s.book.Calls.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the calls of secret engines: %w", err)
	}
	return nil
}

func (s *Sweeper) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := s.book.Pass(ctx); err != nil && ctx.Err() == nil {
			s.book.Log.ErrorContext(ctx, "leases of minted secrets cannot be read; it is tried again", "err", err)
		}
		timer.Reset(every)
	}
}

// Pass does the work once: what waits in this process, then what the store gives.
func (b *Book) Pass(ctx context.Context) error {
	b.GiveBack(ctx, b.due(false))
	for range batches {
		var rows []secrets.Lease
		bound, cancel := context.WithTimeout(ctx, storeTime)
		err := b.Unit.Do(bound, func(ctx context.Context) (err error) {
			rows, err = b.Store.TakeLeases(ctx, batch, hold)
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		each(rows, func(l secrets.Lease) { b.revokeStored(ctx, l) })
		if len(rows) < batch || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// revokeStored revokes a lease of the store and forgets it. One that failed too often is forgotten as well.
func (b *Book) revokeStored(ctx context.Context, l secrets.Lease) {
	attrs := []any{"lease", l.ID, "engine", l.Engine, "credential", l.CredentialID}
	words, err := b.tryStored(ctx, l)
	switch {
	case err == nil:
		b.drop(ctx, l.ID)
	case ctx.Err() != nil:
	case l.Attempts >= maxAttempts:
		b.Log.ErrorContext(ctx, "a minted secret was not revoked; it ends by itself", append(attrs, "attempts", l.Attempts, "err", words)...)
		b.drop(ctx, l.ID)
	default:
		b.Log.WarnContext(ctx, "a minted secret was not revoked; it is tried again", append(attrs, "attempts", l.Attempts, "err", words)...)
	}
}

// tryStored returns beside an error what may be told of it.
func (b *Book) tryStored(ctx context.Context, l secrets.Lease) (string, error) {
	revoker, ok := b.Engines[l.Engine].Minter.(extension.LeaseRevoker)
	if !ok {
		err := fmt.Errorf("this process has no engine %s that revokes", l.Engine)
		return err.Error(), err
	}
	what, err := b.open(ctx, l)
	if err != nil {
		return err.Error(), err
	}
	err = b.call(ctx, l.Engine, func(ctx context.Context) error {
		return revoker.RevokeLease(ctx, what.Config, what.Handle)
	}, func(err error) {
		if err == nil {
			b.drop(ctx, l.ID)
		}
	})
	return Words(err, append(Texts(what.Config), what.Handle)...), err
}
