package scheduling

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/fire"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// tidyFirst keeps a start quick, and tidyEvery is the pause between two passes.
	tidyFirst = time.Minute
	tidyEvery = time.Hour
	// tidyTime bounds one pass.
	tidyTime = 5 * time.Minute
	// slotAge is how long what became of a slot is kept. A slot that is forgotten could fire anew, so it is far longer than any catch-up.
	slotAge = 7 * 24 * time.Hour
)

// Background is what this context does without being asked: it fires schedules, and drops slots and deliveries that nobody asks about
// any more.
type Background struct {
	engine     *fire.Engine
	slots      scheduling.SlotStore
	deliveries scheduling.DeliveryStore
	log        *slog.Logger
	cfg        Config

	mu   sync.Mutex
	stop context.CancelFunc
	work sync.WaitGroup
}

func newBackground(e *fire.Engine, s Stores, log *slog.Logger, cfg Config) *Background {
	return &Background{engine: e, slots: s.Slots, deliveries: s.Deliveries, log: log, cfg: cfg}
}

// Start begins the work and returns at once. It does nothing where the work has begun, and in an install that is read alone.
func (b *Background) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil || b.cfg.ReadOnly {
		return
	}
	// The work outlives the call that started it; Stop ends it.
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.engine.Start()
	b.work.Go(func() { b.tidy(ctx) })
}

// Stop ends the work and returns when all of it has ended, or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	b.mu.Lock()
	stop := b.stop
	b.stop = nil
	b.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	ended := make(chan struct{})
	go func() {
		b.engine.Stop()
		b.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tidy drops what is old, now and then, until ctx ends.
func (b *Background) tidy(ctx context.Context) {
	timer := time.NewTimer(tidyFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := b.Tidy(ctx); err != nil && ctx.Err() == nil {
			b.log.ErrorContext(ctx, "upkeep of schedules failed; it is tried again", "err", err)
		}
		timer.Reset(tidyEvery)
	}
}

// Tidy drops slots and deliveries that are old. What fails keeps nothing else from being done.
func (b *Background) Tidy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	return errors.Join(b.slots.ForgetSlots(ctx, slotAge), b.deliveries.ForgetDeliveries(ctx))
}
