package identity

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/upkeep"
	"github.com/writ-automation/writ/modules/identity/internal/usage"
)

// Background is what this context does without being asked: it writes down when tokens were used, and drops what
// nobody needs any more.
type Background struct {
	uses   *usage.Recorder
	upkeep *upkeep.Upkeep
}

// Start begins the work and returns at once. It must be called once.
func (b *Background) Start() {
	b.uses.Start()
	b.upkeep.Start()
}

// Stop writes down the last uses of tokens, ends the work and returns when all of it has ended, or when ctx ends.
func (b *Background) Stop(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		b.upkeep.Stop()
		b.uses.Stop()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
