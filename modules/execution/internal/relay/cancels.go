package relay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
)

// awaitCancel waits until a cancel is requested for a run that the worker holds and that the worker has not listed. It
// returns nil if that does not happen within the worker's wait, and a refusal if the worker's token is revoked
// meanwhile. Heartbeats make up for lost signals.
func (r *Relay) awaitCancel(ctx context.Context, c *execution.RelayClaim) (*execution.Grant, error) {
	select {
	case r.waits <- struct{}{}:
		defer func() { <-r.waits }()
	default:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "too many workers wait", RetryAfter: time.Second}
	}
	var signals, revoked <-chan string
	if r.Signals != nil { // before the first look, so that no later signal is missed
		cancels, stop := r.Signals.Watch(events.TopicCancel)
		defer stop()
		tokens, end := r.Signals.Watch(events.TopicWorker)
		defer end()
		signals, revoked = cancels, tokens
	}
	over := time.NewTimer(time.Duration(c.WaitSeconds) * time.Second)
	defer over.Stop()
	for {
		if err := r.Gate.MayClaim(ctx, c.Worker.Name, c.Queues); err != nil {
			return nil, err
		}
		leased, err := r.Plane.Leased(ctx, execution.RelayPrefix+c.Worker.Name)
		if err != nil {
			return nil, fmt.Errorf("look for cancels of %s: %w", c.Worker.Name, err)
		}
		g := &execution.Grant{}
		for _, run := range leased {
			if run.CancelRequested && !slices.Contains(c.Canceling, run.ID) {
				g.CancelRequested = append(g.CancelRequested, run.ID)
			}
		}
		if len(g.CancelRequested) > 0 {
			return g, nil
		}
		select {
		case <-signals:
			for len(signals) > 0 { // one look covers them all
				<-signals
			}
		case <-revoked:
		case <-over.C:
			return nil, nil
		case <-r.waitlist.done():
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
