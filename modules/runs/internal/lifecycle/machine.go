package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// ErrAgain means that the tree changed during a unit, which must be run again.
var ErrAgain = errors.New("the run's children changed meanwhile")

// attempts bounds how often a unit is run.
const attempts = 20

// Waker notifies the followers of a run in this process that it changed.
type Waker interface{ Wake(runID string) }

// Machine makes transitions and records them. Its methods must be called inside a unit of work, except Do, Now,
// NewID, Fold and HostsDigest.
type Machine struct {
	Unit      tx.Unit
	Store     runs.Store
	Summaries runs.SummaryStore
	Events    runs.EventStore
	Slots     runs.SlotStore
	Waits     runs.WaitStore
	Recorder  audit.Recorder
	Publisher events.Publisher
	Signals   events.Signals
	Clock     clock.Clock
	IDs       ids.Generator
	Waker     Waker
	// Inventories reports which inventories are refreshed before a run. If it is nil, none are.
	Inventories Inventories
	// Binder binds held steps. If it is nil, they are bound when they are first looked at.
	Binder Binder
}

// Inventories reports whether an inventory has sources that are refreshed before a run.
type Inventories interface {
	RefreshesOnLaunch(ctx context.Context, inventoryID string) (bool, error)
}

// Do runs fn in a unit of work, and again while fn returns ErrAgain. After too many attempts it returns
// RunStateChanged.
func (m *Machine) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	for range attempts {
		if err := m.Unit.Do(ctx, fn); !errors.Is(err, ErrAgain) {
			return err
		}
	}
	return runs.RunStateChanged.New("the run keeps changing; try again")
}

func (m *Machine) Now() time.Time { return m.Clock.Now() }

func (m *Machine) NewID() string { return m.IDs.New(ids.Run) }

// Enter stores a new run. A parent that is not held gets its first children at once.
func (m *Machine) Enter(ctx context.Context, r *runs.Run) error {
	if err := m.Store.Insert(ctx, r); err != nil {
		return err
	}
	if err := m.Touch(ctx, r.ID); err != nil {
		return err
	}
	switch {
	case r.Status == runs.Pending:
		return m.Open(ctx, r)
	case r.Approvals.Awaiting():
		return m.Signals.Signal(ctx, events.TopicHeld, r.ID)
	}
	return nil
}

// Open makes a pending run available for execution: it wakes the executors, or makes the children that are known
// already.
func (m *Machine) Open(ctx context.Context, r *runs.Run) error {
	switch {
	case r.Kind == runs.Pipeline:
		return m.settlePipeline(ctx, r, nil)
	case r.ShardHosts != nil:
		return m.AddShards(ctx, r, r.ShardHosts)
	default:
		return m.Signals.Signal(ctx, events.TopicQueue, r.Spec.Queue)
	}
}

// AddShards makes the shards of a split over the given hosts and wakes the executors.
func (m *Machine) AddShards(ctx context.Context, p *runs.Run, hosts [][]string) error {
	for i, h := range hosts {
		s := m.child(p, runs.Shard)
		s.Name, s.Vars = p.Name, p.Vars
		s.ShardIndex, s.ShardCount = i, len(hosts)
		s.Spec = p.Spec
		s.Spec.Shards, s.Spec.LimitHosts = 0, h
		s.Spec.Notifications, s.Spec.RequireApproval = nil, false
		s.Spec.FailOn = nil // the split has the warnings of all shards
		s.Spec.Locks, s.Spec.ExclusiveHosts = nil, false
		if err := m.Enter(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// child returns a new pending run below p. Labels and the change stay on the parent, since only parents are listed. A
// child has the parent's objects, so that the same callers may read it.
func (m *Machine) child(p *runs.Run, k runs.Kind) *runs.Run {
	now := m.Now()
	return &runs.Run{
		ID: m.NewID(), Kind: k, Status: runs.Pending, ParentID: p.ID, Origin: p.Origin, Actor: p.Actor,
		CreatedAt: now, QueuedAt: now, Gated: p.Gated, Lineage: p.Lineage, Objects: p.Objects, Commit: p.Commit,
		Hidden: p.Hidden, Approvals: p.Approvals.Binding(),
	}
}

// Move makes a transition and settles the parent of a child that ended with it.
func (m *Machine) Move(ctx context.Context, mv runs.Move) (*runs.Run, error) {
	return m.MoveAhead(ctx, mv, nil)
}

// MoveAhead is Move for a run whose journal was folded before the unit. It returns ErrBehind if the journal has grown
// too much or has changed since.
func (m *Machine) MoveAhead(ctx context.Context, mv runs.Move, a *Ahead) (*runs.Run, error) {
	r, err := m.move(ctx, mv, nil, a)
	if err != nil || r.ParentID == "" || !r.Status.Terminal() {
		return r, err
	}
	return r, m.Settle(ctx, r.ParentID)
}

// MoveAlone makes a transition and leaves the parent to the caller.
func (m *Machine) MoveAlone(ctx context.Context, mv runs.Move) (*runs.Run, error) {
	return m.move(ctx, mv, nil, nil)
}

// rollUp ends a parent. The system is recorded as the actor.
func (m *Machine) rollUp(ctx context.Context, mv runs.Move, p *runs.Run, children []*runs.Run) error {
	FailOn(p, &mv)
	counted := *p
	counted.HostsTouched, counted.Hosts = mv.Touched, mv.Counts
	hosts, err := m.HostsDigest(ctx, &counted, children)
	if err != nil {
		return err
	}
	_, err = m.move(ctx, mv, system(), &Ahead{Hosts: hosts})
	return err
}

// move makes a transition. The recorded actor of an end is the holder of the lease, else the given actor, else that
// of the context.
func (m *Machine) move(ctx context.Context, mv runs.Move, by *actor.Actor, a *Ahead) (*runs.Run, error) {
	if mv.At.IsZero() {
		mv.At = m.Now()
	}
	r, err := m.Store.Move(ctx, mv)
	if err != nil {
		return nil, err
	}
	if err := m.Touch(ctx, r.ID); err != nil {
		return nil, err
	}
	if !r.Status.Terminal() {
		return r, nil
	}
	if mv.Lease != nil {
		by = worker(*mv.Lease)
	}
	if err := m.release(ctx, r); err != nil {
		return nil, err
	}
	if err := m.final(ctx, r, runs.StatusEvent(r, mv.From, mv.At), by, a); err != nil {
		return nil, err
	}
	if !r.Kind.Parent() && (r.HostsTouched > 0 || r.Spec.Plannable()) {
		if err := m.Publisher.Publish(ctx, runs.Reported{RunID: r.ID}); err != nil {
			return nil, err
		}
	}
	return r, m.Publisher.Publish(ctx, runs.Finished{
		RunID: r.ID, Kind: r.Kind, Tool: r.Spec.Tool, Status: r.Status, TopLevel: !r.Kind.Child(), At: mv.At,
		DurationMS: r.Duration(mv.At).Milliseconds(), Touched: r.HostsTouched,
		NoTargets: len(r.Spec.Notifications) == 0, By: r.Actor.Shown(), Worker: r.Worker, Hosts: r.Hosts,
	})
}

// Touch wakes the followers of a run, in this and in other processes, after the unit has committed.
func (m *Machine) Touch(ctx context.Context, id string) error {
	tx.OnCommit(ctx, func() { m.Waker.Wake(id) })
	return m.Signals.Signal(ctx, events.TopicRun, id)
}
