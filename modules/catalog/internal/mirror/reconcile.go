package mirror

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

const (
	// reconcileEvery is the pause between two looks for mirrors of projects that another server deleted.
	reconcileEvery = 10 * time.Minute
	// reconcileTime bounds one look. The next one continues.
	reconcileTime = 5 * time.Minute
)

// reconcile removes mirrors of projects that do not exist, at once and then from time to time, until Stop.
func (m *Mirror) reconcile() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-timer.C:
		}
		m.removeDeleted()
		timer.Reset(reconcileEvery)
	}
}

// removeDeleted asks the store about each project that has a mirror here. A project is stored before its first fetch,
// so one that the store does not know was deleted.
func (m *Mirror) removeDeleted() {
	ctx, cancel := context.WithTimeout(m.ctx, reconcileTime)
	defer cancel()
	list, err := m.checkouts.Mirrored(ctx)
	if err != nil {
		m.log.WarnContext(ctx, "the mirrors of projects could not be listed; it is tried again", "err", err)
	}
	for _, id := range list {
		if _, err := m.reload(id); err != nil && !fault.Is(err, fault.NotFound) {
			if m.ctx.Err() == nil {
				m.log.WarnContext(ctx, "mirrors of deleted projects could not be looked for; it is tried again", "err", err)
			}
			return
		}
	}
}
