package relayclient

import (
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
)

// Bounds on the time until the client requests cancels again: the least, and the most while the server does not
// answer.
const (
	cancelPause   = 100 * time.Millisecond
	cancelBackOff = 30 * time.Second
)

// Cancels returns the signals of a worker over the relay: those of events.TopicCancel, for the runs that it holds.
// Each watcher has one claim that waits at the server while a run is held. Heartbeats report lost cancels, and every
// cancel where claims do not wait.
func (c *Client) Cancels() events.Signals { return cancels{c} }

type cancels struct{ c *Client }

// Signal does nothing: a worker cancels no runs.
func (cancels) Signal(context.Context, string, string) error { return nil }

// Watch returns a nil channel for other topics.
func (s cancels) Watch(topic string) (<-chan string, func()) {
	if topic != events.TopicCancel || s.c.cfg.Wait < time.Second {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, done := make(chan string), make(chan struct{})
	go func() {
		defer close(done)
		s.c.followCancels(ctx, out)
	}()
	return out, func() { cancel(); <-done }
}

// followCancels requests cancels until ctx ends, and sends the run ids.
func (c *Client) followCancels(ctx context.Context, out chan<- string) {
	var known []string // runs that were sent, while they are held
	pause := cancelPause
	for ctx.Err() == nil {
		held := c.claims.matching(func(*entry) bool { return true })
		if len(held) == 0 {
			select {
			case <-c.claims.added:
			case <-ctx.Done():
			}
			continue
		}
		g, err := c.ask(ctx, execution.RelayClaim{Worker: c.cfg.Worker, Cancels: true, Canceling: known},
			c.cfg.Wait.Truncate(time.Second))
		switch {
		case err != nil:
			pause = min(2*pause, cancelBackOff)
			c.log.Debug("the server does not tell of cancels; heartbeats do", "again", pause.String(), "error", err)
		case g == nil:
			pause = cancelPause
			known = slices.DeleteFunc(known, func(id string) bool {
				return !slices.ContainsFunc(held, func(k claim) bool { return k.run == id })
			})
		default:
			pause = cancelPause
			known = append(known, g.CancelRequested...)
			for _, id := range g.CancelRequested {
				select {
				case out <- id:
				case <-ctx.Done():
				}
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
