package runs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/stream"
	"github.com/writ-automation/writ/modules/runs/internal/sweep"
	"github.com/writ-automation/writ/ports/events"
)

// Times of the background work that are not settings: the pause before the first retention pass, which keeps a start
// quick, how often left-behind parents are looked for, and how long one pass may take.
const (
	firstPurge   = time.Minute
	parentsEvery = time.Minute
	passTimeout  = 5 * time.Minute
)

// Background is what this context does without being asked: it ends runs that lost their holder, drops what retention no
// longer wants, and wakes live streams for what other processes report.
type Background struct {
	sweeper   *sweep.Sweeper
	retention *sweep.Retention
	hub       *stream.Hub
	signals   events.Signals
	log       *slog.Logger
	cfg       Config

	mu   sync.Mutex
	stop context.CancelFunc
	done sync.WaitGroup
}

func newBackground(s *sweep.Sweeper, r *sweep.Retention, h *stream.Hub, sig events.Signals, log *slog.Logger, cfg Config) *Background {
	return &Background{sweeper: s, retention: r, hub: h, signals: sig, log: log, cfg: cfg}
}

// Start begins the work and returns at once. It does nothing where the work has begun.
func (b *Background) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		return
	}
	// The work outlives the call that started it; Stop ends it.
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.done.Go(func() { b.hub.Watch(ctx, b.signals) })
	b.done.Go(func() { b.every(ctx, b.cfg.SweepEvery, b.cfg.SweepEvery, b.sweep) })
	b.done.Go(func() { b.every(ctx, parentsEvery, parentsEvery, b.parents) })
	b.done.Go(func() { b.every(ctx, firstPurge, b.cfg.PurgeEvery, b.purge) })
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
		b.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// every calls pass after the first pause and then at the interval, until ctx ends.
func (b *Background) every(ctx context.Context, first, interval time.Duration, pass func(context.Context) error) {
	t := time.NewTimer(first)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		bound, cancel := context.WithTimeout(ctx, passTimeout)
		if err := pass(bound); err != nil && ctx.Err() == nil {
			b.log.ErrorContext(ctx, "background work on runs failed; it is tried again", "err", err)
		}
		cancel()
		t.Reset(interval)
	}
}

func (b *Background) sweep(ctx context.Context) error {
	n, err := b.sweeper.Leases(ctx)
	if n > 0 {
		b.log.InfoContext(ctx, "runs lost their executor", "runs", n)
	}
	return err
}

func (b *Background) parents(ctx context.Context) error {
	_, err := b.sweeper.Parents(ctx)
	return err
}

func (b *Background) purge(ctx context.Context) error {
	n, err := b.retention.Pass(ctx)
	if n > 0 {
		b.log.InfoContext(ctx, "retention dropped runs or their events", "runs", n)
	}
	return err
}
