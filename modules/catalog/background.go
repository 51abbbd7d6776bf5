package catalog

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/modules/catalog/internal/source"
	"github.com/writ-automation/writ/platform/background"
)

// Background fetches new and changed projects, removes the mirrors of deleted projects, refreshes inventory sources
// when they are due, and does the refreshes of an executor. Stop also ends the fetches and refreshes that requests
// started. A read-only server has no loops.
type Background struct {
	loops     background.Group
	work      background.Group // the loops of a process without requests
	mirror    *project.Mirror
	refresher *source.Refresher
	stopped   atomic.Bool
}

func newBackground(
	m *project.Mirror, r *source.Refresher, x *source.Executor, p MaterialParams,
) *Background {
	b := &Background{mirror: m, refresher: r}
	if !p.Config.ReadOnly {
		b.work = background.Group{m.Removal()}
		if p.Config.Worker != "" {
			b.work = append(b.work, x.Loops()...)
		}
		b.loops = slices.Concat(b.work, m.Loops(), r.Loops())
	}
	for _, l := range b.loops {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return b
}

// Start starts all loops and returns immediately. It does nothing after Stop.
func (b *Background) Start() { b.start(b.loops) }

// StartWork starts the removal of the mirrors of deleted projects, and the refreshes that executors do.
func (b *Background) StartWork() { b.start(b.work) }

func (b *Background) start(g background.Group) {
	if !b.stopped.Load() {
		g.Start()
	}
}

// Stop ends the loops and all active fetches and refreshes. It returns when they have ended, or with the error of ctx.
// No fetch or refresh starts afterwards.
func (b *Background) Stop(ctx context.Context) error {
	b.stopped.Store(true)
	ended := make(chan error, 1)
	go func() {
		err := b.loops.Stop(ctx)
		b.refresher.Close()
		b.mirror.Close()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
