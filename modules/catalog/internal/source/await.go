package source

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
)

// watchEvery is how often a refresh that an executor does is looked at without a signal.
const watchEvery = 500 * time.Millisecond

// await asks for the refresh of a source by an executor and waits for its result.
func (r *Refresher) await(ctx context.Context, end *outcome) error {
	id := end.source.ID
	signal, stop := r.watch()
	defer stop()
	err := r.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if end.round, err = r.Refreshes.AskRefresh(ctx, id, end.source.Revision, r.Queue); err != nil {
			return err
		}
		return r.signal(ctx, id)
	})
	if err != nil {
		return err
	}
	late, look := time.NewTimer(catalog.RefreshWait), time.NewTicker(watchEvery)
	defer late.Stop()
	defer look.Stop()
	for {
		state, err := r.Refreshes.RefreshState(ctx, id, end.round)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.Log.WarnContext(ctx, "look at the refresh of a source", "source", id, "err", err)
		case state.Over:
			end.over = true
			return nil
		case state.Done:
			end.done = true
			return end.take(state.Result)
		case state.Held:
			late.Reset(catalog.RefreshWait)
		}
		select {
		case <-late.C:
			end.unheld = true
			return noExecutor(r.Queue)
		case <-look.C:
		case <-signal:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take measures what an executor found.
func (e *outcome) take(got catalog.RefreshResult) (err error) {
	if got.Failure != "" {
		return catalog.RefreshFailed.New("%s", got.Failure)
	}
	e.inventory, e.dropped, err = measured(e.source, catalog.Inventory{Content: got.Content, Format: got.Format})
	return err
}

func noExecutor(queue string) error {
	return catalog.NoExecutor.New("no executor of the queue %q took the refresh within %d seconds", queue,
		int(catalog.RefreshWait.Seconds()))
}

func (r *Refresher) watch() (<-chan string, func()) {
	if r.Signals == nil {
		return nil, func() {}
	}
	return r.Signals.Watch(events.TopicRefresh)
}

// signal wakes executors, and those who wait for them.
func (r *Refresher) signal(ctx context.Context, id string) error {
	if r.Signals == nil {
		return nil
	}
	return r.Signals.Signal(ctx, events.TopicRefresh, id)
}

// claimed ends the round of a refresh in the open unit of work. It returns false if somebody else has ended it.
func (r *Refresher) claimed(ctx context.Context, end *outcome) (bool, error) {
	if !end.done && !end.unheld {
		return true, nil
	}
	return r.Refreshes.EndRefresh(ctx, end.source.ID, end.round, end.done)
}

// settle reads the result of a refresh that somebody else has stored.
func (r *Refresher) settle(ctx context.Context, end *outcome) error {
	now, err := r.Sources.SourceByID(ctx, end.source.ID)
	if err != nil {
		return err
	}
	state, err := r.Refreshes.RefreshState(ctx, end.source.ID, end.round)
	if err != nil {
		return err
	}
	end.failure, end.code = now.LastError, catalog.RefreshFailed
	switch {
	case now.Revision != end.source.Revision:
		end.failure = changed
	case state.Missed:
		end.code = catalog.NoExecutor
	}
	end.inventory, err = r.Inventories.InventoryByID(ctx, end.source.InventoryID)
	return err
}
