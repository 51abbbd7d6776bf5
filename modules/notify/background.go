package notify

import (
	"context"

	"github.com/writ-automation/writ/modules/notify/internal/deliver"
)

// Background delivers what is due.
type Background struct {
	engine   *deliver.Engine
	readOnly bool
}

// Start begins the work and returns at once. It does nothing where the work has begun, and in an install that is read alone.
func (b *Background) Start() {
	if !b.readOnly {
		b.engine.Start()
	}
}

// Stop takes no more deliveries and returns when those under way have ended, which takes no longer than a try, or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		b.engine.Stop()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
