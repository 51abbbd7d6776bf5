package usage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
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
}

// New makes a recorder that writes to a store while its loop runs.
func New(store identity.UseStore, unit tx.Unit, log *slog.Logger) *Recorder {
	return &Recorder{store: store, unit: unit, log: log, pending: make(map[string]time.Time)}
}

// Used notes that a token was used. It never blocks.
func (r *Recorder) Used(t identity.Token, at time.Time) {
	if at.Sub(t.LastUsedAt) < resolution {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.pending[t.ID]; known || len(r.pending) < capacity {
		r.pending[t.ID] = at
	}
}

// Loop writes what was collected, also when it is stopped.
func (r *Recorder) Loop() *background.Loop {
	return &background.Loop{
		Name: "token uses", First: every, Every: every, Pass: r.flush,
		Last: func() {
			if err := r.flush(context.Background()); err != nil {
				r.log.Warn("the last uses of tokens were not written", "err", err)
			}
		},
	}
}

// flush drops what could not be written: the next use of a token tells it again.
func (r *Recorder) flush(ctx context.Context) error {
	r.mu.Lock()
	batch := r.pending
	r.pending = make(map[string]time.Time)
	r.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := r.unit.Do(ctx, func(ctx context.Context) error { return r.store.TouchTokens(ctx, batch) })
	if err != nil {
		return fmt.Errorf("write the last uses of %d tokens: %w", len(batch), err)
	}
	return nil
}
