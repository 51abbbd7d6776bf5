package work

import (
	"context"
	"log/slog"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds of one pass.
const (
	batch   = 100
	parents = 1000
)

// lost is the reason of a running run whose holder stopped reporting.
const lost = "the executor stopped reporting"

// Sweeper ends or requeues runs whose lease expired. Any number of servers may sweep: each run is checked under its
// row's lock, and is left unchanged if its holder has sent a beat meanwhile.
type Sweeper struct {
	machine *lifecycle.Machine
	queue   runs.Queue
	journal *Journal
	log     *slog.Logger
}

// NewSweeper returns a sweeper.
func NewSweeper(m *lifecycle.Machine, q runs.Queue, j *Journal, log *slog.Logger) *Sweeper {
	return &Sweeper{machine: m, queue: q, journal: j, log: log}
}

// Leases makes one pass over the runs whose lease expired and returns how many it moved. A failure for one run does
// not stop the others.
func (s *Sweeper) Leases(ctx context.Context) (int, error) {
	list, err := s.queue.Expired(ctx, batch)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range list {
		if err := s.reap(ctx, r); err != nil {
			if ctx.Err() != nil {
				return n, err
			}
			s.log.ErrorContext(ctx, "cannot take a run back from its holder", "run", r.ID, "err", err)
			continue
		}
		s.log.WarnContext(ctx, "lease lost: the worker stopped reporting", "run", r.ID, "worker",
			execution.ShownName(r.Worker))
		n++
	}
	return n, nil
}

func (s *Sweeper) reap(ctx context.Context, r *runs.Run) error {
	sha, ahead := "", &lifecycle.Ahead{Most: lifecycle.FewEvents}
	if r.Begun {
		var err error
		if sha, err = s.journal.Digest(ctx, r.ID, r.LogBytes); err != nil {
			return err
		}
		if err = s.machine.Fold(ctx, r.ID, &ahead.Events, -1); err != nil {
			return err
		}
	}
	return s.machine.Do(ctx, func(ctx context.Context) error {
		cur, err := s.machine.Store.Lock(ctx, r.ID)
		if err != nil {
			return err
		}
		if !unchanged(r, cur) {
			return nil
		}
		mv := runs.Move{ID: r.ID, From: runs.Running}
		switch {
		case cur.Begun:
			mv.To, mv.Error, mv.LogSHA256 = runs.Interrupted, lost, sha
			mv.Warnings = lifecycle.TruncatedLog(cur, cur.LogOmitted)
		case cur.CancelRequested:
			mv.To = runs.Canceled
		default:
			mv.To, mv.DropLease = runs.Pending, true
		}
		if _, err := s.machine.MoveAhead(ctx, mv, ahead); err != nil || mv.To != runs.Pending {
			return err
		}
		return s.machine.Signals.Signal(ctx, events.TopicQueue, r.Spec.Queue)
	})
}

// unchanged reports whether a run is still as it was when its lease was found expired. A beat moves the lease's end,
// and later writes of the holder need another digest.
func unchanged(was, cur *runs.Run) bool {
	return cur.Status == runs.Running && cur.Epoch == was.Epoch && cur.Worker == was.Worker && cur.Begun == was.Begun &&
		cur.LeaseExpiresAt.Equal(was.LeaseExpiresAt) && cur.LogBytes == was.LogBytes
}

// Parents settles the running parents whose children have all ended, and returns how many there were. A child's end
// settles its parent in the same unit, so that only a restored backup or a defect leaves such a parent.
func (s *Sweeper) Parents(ctx context.Context) (int, error) {
	list, err := s.machine.Store.List(ctx, runs.Filter{
		Statuses: []runs.Status{runs.Running}, Oldest: true, Limit: parents, SkipTotal: true,
		Scope: access.Everything(),
	})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range list.Runs {
		if !r.Kind.Parent() || r.Worker != "" {
			continue
		}
		n++
		err := s.machine.Do(ctx, func(ctx context.Context) error { return s.machine.Settle(ctx, r.ID) })
		if err != nil {
			s.log.ErrorContext(ctx, "cannot settle a run", "run", r.ID, "err", err)
		}
	}
	return n, ctx.Err()
}

// keysPerPass bounds the keys that one pass looks at.
const keysPerPass = 10_000

// Slots lets waiting runs in whose slots are free, and returns for how many keys it did. The end of a run lets the next
// ones in itself; this finds those that it missed, since another unit was about to change their rows or keys. It costs
// little where no run waits.
func (s *Sweeper) Slots(ctx context.Context) (n int, err error) {
	var key runs.SlotKey
	for range keysPerPass {
		if key, err = s.machine.Slots.Waiting(ctx, key); err != nil || key == "" {
			break
		}
		woken := false
		err = s.open(ctx, func(ctx context.Context) ([]string, error) {
			opened, err := s.machine.Slots.Wake(ctx, key)
			woken = len(opened) > 0
			return opened, err
		})
		if err != nil {
			return n, err
		}
		if woken {
			n++
		}
	}
	if err != nil {
		return n, err
	}
	return n, s.open(ctx, func(ctx context.Context) ([]string, error) {
		return s.machine.Slots.WakeChildren(ctx, parents)
	})
}

// open signals the queues in which runs became claimable. The unit stands by itself, since it waits for locks.
func (s *Sweeper) open(ctx context.Context, wake func(context.Context) ([]string, error)) error {
	return s.machine.Do(tx.Alone(ctx), func(ctx context.Context) error {
		opened, err := wake(ctx)
		if err != nil {
			return err
		}
		return s.machine.SignalQueues(ctx, opened)
	})
}
