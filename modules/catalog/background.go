package catalog

import (
	"context"

	"github.com/writ-automation/writ/modules/catalog/internal/mirror"
	"github.com/writ-automation/writ/modules/catalog/internal/refresh"
)

// Background is what this context does without being asked: it synchronises new and changed projects, removes mirrors
// of deleted ones, and refreshes inventory sources by the clock. It also owns the fetches that requests begin.
type Background struct {
	mirror    *mirror.Mirror
	refresher *refresh.Refresher
}

// Start begins the work and returns at once.
func (b *Background) Start() {
	b.mirror.Start()
	b.refresher.Start()
}

// StartRemoval begins to remove mirrors of deleted projects, and nothing else.
func (b *Background) StartRemoval() { b.mirror.StartRemoval() }

// Stop ends the work, fetches under way included, and returns when all of it has ended, or when ctx ends. Nothing is
// fetched afterwards.
func (b *Background) Stop(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		b.refresher.Stop()
		b.mirror.Stop()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
