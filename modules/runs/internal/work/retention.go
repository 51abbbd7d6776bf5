package work

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds of a retention pass: rows are deleted in batches, so that no writer waits long, and a pass ends even if more
// rows are due.
const (
	purgeBatch  = 100
	maxBatches  = 500
	keysLive    = 24 * time.Hour
	noRetention = 0
)

// Retention deletes runs and events that are older than their retention.
type Retention struct {
	unit   tx.Unit
	purger runs.Purger
	clock  clock.Clock
	runs   time.Duration
	events time.Duration
}

// NewRetention returns the retention of ended runs and of their events; zero keeps them forever.
func NewRetention(unit tx.Unit, p runs.Purger, c clock.Clock, runAge, eventAge time.Duration) *Retention {
	return &Retention{unit: unit, purger: p, clock: c, runs: runAge, events: eventAge}
}

// Pass deletes the runs and events that are due, one batch in each unit of work. It returns the number of runs that
// it deleted or whose events it deleted.
func (r *Retention) Pass(ctx context.Context) (int, error) {
	now := r.clock.Now()
	n := 0
	if r.runs > noRetention {
		k, err := r.batches(ctx, now.Add(-r.runs), r.purger.PurgeRuns)
		if n += k; err != nil {
			return n, err
		}
	}
	if r.events > noRetention {
		k, err := r.batches(ctx, now.Add(-r.events), r.purger.PurgeEvents)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, r.unit.Do(ctx, func(ctx context.Context) error { return r.purger.PurgeKeys(ctx, now.Add(-keysLive)) })
}

func (r *Retention) batches(
	ctx context.Context, t time.Time, purge func(context.Context, time.Time, int) (int, error),
) (int, error) {
	total := 0
	for range maxBatches {
		var n int
		err := r.unit.Do(tx.Alone(ctx), func(ctx context.Context) error {
			var err error
			n, err = purge(ctx, t, purgeBatch)
			return err
		})
		if total += n; err != nil || n < purgeBatch {
			return total, err
		}
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
	}
	return total, nil
}
