package facts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// perUnit is how many readings one unit records at most: others wait meanwhile.
	perUnit  = 16
	lookEach = 30 * time.Second
	passTime = 5 * time.Minute
)

// Recorder moves gathered facts from the queue of the runs into the estate.
type Recorder struct {
	Rules   *Rules
	Queue   runs.FactQueue
	Store   estate.FactStore
	Runs    runs.Store
	Unit    tx.Unit
	Clock   clock.Clock
	Signals events.Signals
	Log     *slog.Logger
}

// Loop records what runs gather, soon after each signal.
func (r *Recorder) Loop() *background.Loop {
	return &background.Loop{Name: "facts", Every: lookEach, Timeout: passTime, Pass: r.Pass,
		Watch: func() (<-chan string, func()) { return r.Signals.Watch(events.TopicFacts) }}
}

// Pass records everything that waits.
func (r *Recorder) Pass(ctx context.Context) error {
	limit := perUnit
	for {
		taken, err := r.record(ctx, limit)
		switch {
		case err != nil && ctx.Err() == nil && limit > 1: // one of them cannot be stored, or all took too long
			limit = 1
		case err != nil && (ctx.Err() != nil || fault.Is(err, fault.Unavailable) || len(taken) == 0):
			return err
		case err != nil:
			if err := r.drop(ctx, taken[0], err); err != nil && !errors.Is(err, errOther) {
				return err
			}
			limit = perUnit
		case len(taken) == 0:
			return nil
		}
	}
}

// record moves at most limit readings in one unit. It returns what it took, also if the unit failed.
func (r *Recorder) record(ctx context.Context, limit int) (taken []runs.GatheredFacts, err error) {
	refused := map[int]error{}
	err = r.Unit.Do(ctx, func(ctx context.Context) (err error) {
		clear(refused)
		if taken, err = r.Queue.TakeFacts(ctx, limit); err != nil {
			return err
		}
		known, now := map[string]*runs.Run{}, r.Clock.Now()
		list := make([]estate.GatheredFacts, 0, len(taken))
		for i, t := range taken {
			g := estate.GatheredFacts{Host: t.Host, GatheredAt: t.GatheredAt, RunID: t.RunID, Objects: t.Objects}
			if g.GatheredAt.After(now) { // by the clock of its executor
				g.GatheredAt = now
			}
			if g.Stable, g.Volatile, err = r.Rules.Flatten(t.Facts); err != nil {
				refused[i] = err
				continue
			}
			run, ok := known[t.RunID]
			if !ok {
				if run, err = r.Runs.ByID(ctx, t.RunID); err != nil && !runs.RunNotFound.Is(err) {
					return fmt.Errorf("read the run of facts: %w", err)
				}
				known[t.RunID] = run
			}
			g.Run = run
			list = append(list, g)
		}
		return r.Store.Record(ctx, list)
	})
	if err != nil {
		return taken, fmt.Errorf("record facts: %w", err)
	}
	for i, cause := range refused {
		r.warn(ctx, taken[i], cause)
	}
	return taken, nil
}

// errOther means that another server has what was to be dropped.
var errOther = errors.New("something else waits first")

// drop removes the first reading that waits, if it is the one that cannot be stored, so that those after it can.
func (r *Recorder) drop(ctx context.Context, bad runs.GatheredFacts, cause error) error {
	err := r.Unit.Do(ctx, func(ctx context.Context) error {
		taken, err := r.Queue.TakeFacts(ctx, 1)
		if err != nil {
			return err
		}
		if len(taken) == 0 || taken[0].Host != bad.Host || taken[0].RunID != bad.RunID ||
			!taken[0].GatheredAt.Equal(bad.GatheredAt) {
			return errOther
		}
		return nil
	})
	if err == nil {
		r.warn(ctx, bad, cause)
	}
	return err
}

func (r *Recorder) warn(ctx context.Context, t runs.GatheredFacts, cause error) {
	r.Log.WarnContext(ctx, "facts of a host are not kept", "host", t.Host, "run", t.RunID, "error", cause)
}
