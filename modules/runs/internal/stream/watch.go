package stream

import (
	"context"

	"github.com/writ-automation/writ/ports/events"
)

// Watch wakes the hub's followers for runs that change in other processes, until ctx ends.
func (h *Hub) Watch(ctx context.Context, signals events.Signals) {
	ch, stop := signals.Watch(events.TopicRun)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id, open := <-ch:
			switch {
			case !open:
				return
			case id == "":
				h.WakeAll()
			default:
				h.Wake(id)
			}
		}
	}
}
