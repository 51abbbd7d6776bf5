package lifecycle

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// released is the key of the runs that ended in a unit.
type released struct{ of *Machine }

// release gives back the slots of a run that has ended, together with those of all units that share the commit.
func (m *Machine) release(ctx context.Context, r *runs.Run) error {
	if !r.Slotted || r.ParentID != "" {
		return nil
	}
	return tx.BeforeCommit(ctx, tx.Early, released{m}, r.Seq, m.releaseAll)
}

// releaseAll wakes the runs that are next. Where another unit is about to change a key, the search for free slots does
// so after both have committed.
func (m *Machine) releaseAll(ctx context.Context, ended []int64) error {
	opened, left, err := m.Slots.Release(ctx, ended)
	if err != nil {
		return err
	}
	for _, key := range left {
		if err := m.Signals.Signal(ctx, events.TopicSlots, string(key)); err != nil {
			return err
		}
	}
	return m.SignalQueues(ctx, opened)
}

// SignalQueues tells the executors of queues that runs became claimable.
func (m *Machine) SignalQueues(ctx context.Context, queues []string) error {
	for _, queue := range slices.Compact(slices.Sorted(slices.Values(queues))) {
		if err := m.Signals.Signal(ctx, events.TopicQueue, queue); err != nil {
			return err
		}
	}
	return nil
}

// Limits stores the limits of keys.
type Limits struct{ machine *Machine }

var _ runs.Limits = Limits{}

// NewLimits returns limits over the machine's store.
func NewLimits(m *Machine) Limits { return Limits{m} }

func (l Limits) SetLimit(ctx context.Context, key runs.SlotKey, limit int) error {
	return l.machine.Do(ctx, func(ctx context.Context) error {
		opened, err := l.machine.Slots.PutLimit(ctx, key, limit)
		if err != nil {
			return err
		}
		if err := l.machine.Signals.Signal(ctx, events.TopicSlots, string(key)); err != nil {
			return err
		}
		return l.machine.SignalQueues(ctx, opened)
	})
}

func (l Limits) AddLimit(ctx context.Context, key runs.SlotKey, limit int) error {
	return l.machine.Slots.AddLimit(ctx, key, limit)
}

func (l Limits) Limits(ctx context.Context, keys ...runs.SlotKey) (map[runs.SlotKey]int, error) {
	return l.machine.Slots.Limits(ctx, keys...)
}
