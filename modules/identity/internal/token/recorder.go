package token

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
	// every is the time between two writes.
	every = 15 * time.Second
	// resolution is the precision of the time of the last use: a token in constant use is written once a minute.
	resolution = time.Minute
	// capacity limits the tokens of one batch. Further tokens are recorded in the next one.
	capacity     = 10_000
	writeTimeout = 10 * time.Second
)

// Recorder records when tokens were last used, in batches and outside of requests. It is safe for concurrent use.
type Recorder struct {
	store identity.UseStore
	unit  tx.Unit
	log   *slog.Logger

	mu      sync.Mutex
	pending map[string]time.Time
}

// NewRecorder makes a recorder that writes to a store while its loop runs.
func NewRecorder(store identity.UseStore, unit tx.Unit, log *slog.Logger) *Recorder {
	return &Recorder{store: store, unit: unit, log: log, pending: make(map[string]time.Time)}
}

// Used records that a token was used. It does not wait for the store.
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

// Loop returns the loop that writes the collected uses. It writes the last ones when it stops.
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

// flush drops uses that could not be written. The next use of the token is recorded anyway.
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
