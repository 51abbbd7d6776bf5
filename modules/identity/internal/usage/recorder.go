package usage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// every is how long uses are collected before they are written.
	every = 15 * time.Second
	// resolution is how exact the time of the last use is; a token in constant use is written once in it.
	resolution = time.Minute
	// capacity bounds how many tokens are collected; further ones wait for the next batch.
	capacity = 10_000
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
)

// Recorder collects uses. It is safe for concurrent use.
type Recorder struct {
	store identity.UseStore
	unit  tx.Unit
	log   *slog.Logger

	mu      sync.Mutex
	pending map[string]time.Time

	wake chan struct{}
	quit chan struct{}
	once sync.Once
	work sync.WaitGroup
}

// New makes a recorder that writes to a store once it is started.
func New(store identity.UseStore, unit tx.Unit, log *slog.Logger) *Recorder {
	return &Recorder{
		store: store, unit: unit, log: log, pending: make(map[string]time.Time),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
}

// Used notes that a token was used. It never blocks.
func (r *Recorder) Used(t identity.Token, at time.Time) {
	if at.Sub(t.LastUsedAt) < resolution {
		return
	}
	r.mu.Lock()
	_, known := r.pending[t.ID]
	if known || len(r.pending) < capacity {
		r.pending[t.ID] = at
	}
	first := !known && len(r.pending) == 1
	r.mu.Unlock()
	if first {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Start begins to write. It must be called once.
func (r *Recorder) Start() { r.work.Go(r.loop) }

// Stop writes what is left and returns when nothing runs any more. A recorder that was never started has nothing to
// write with.
func (r *Recorder) Stop() {
	r.once.Do(func() { close(r.quit) })
	r.work.Wait()
}

// loop sleeps until something was used, and then gathers for a while.
func (r *Recorder) loop() {
	for {
		select {
		case <-r.quit:
			r.flush()
			return
		case <-r.wake:
		}
		gather := time.NewTimer(every)
		select {
		case <-r.quit:
		case <-gather.C:
		}
		gather.Stop()
		r.flush()
	}
}

// flush drops what could not be written: the next use of a token tells it again.
func (r *Recorder) flush() {
	r.mu.Lock()
	batch := r.pending
	r.pending = make(map[string]time.Time)
	r.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := r.unit.Do(ctx, func(ctx context.Context) error { return r.store.TouchTokens(ctx, batch) })
	if err != nil {
		r.log.WarnContext(ctx, "the last uses of tokens were not written", "count", len(batch), "error", err)
	}
}
