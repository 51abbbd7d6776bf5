package work

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Worklist assigns runs to executors and takes them back.
type Worklist struct {
	machine *lifecycle.Machine
	queue   runs.Queue
	journal *Journal
	hosts   Hosts
	known   known
	log     *slog.Logger
}

// Hosts names the hosts that a run would be executed on, nil if they are not known before. It reads inventories.
type Hosts interface {
	HostNames(ctx context.Context, r *runs.Run) ([]string, error)
}

var _ runs.Worklist = (*Worklist)(nil)

// NewWorklist returns the worklist of a queue. Endings go through the journal's stores. If h is nil, no hosts are
// known.
func NewWorklist(m *lifecycle.Machine, q runs.Queue, j *Journal, h Hosts, log *slog.Logger) *Worklist {
	return &Worklist{machine: m, queue: q, journal: j, hosts: h, log: log}
}

func (w *Worklist) Claim(ctx context.Context, q runs.ClaimRequest) (*runs.Assignment, error) {
	if q.Worker == "" {
		return nil, fault.BadField("worker", "must not be empty")
	}
	if len(q.Queues) == 0 {
		q.Queues = []string{runs.DefaultQueue}
	}
	for range searches {
		got, at, err := w.search(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case got.Assignment != nil:
			w.known.put(got.Assignment, at)
			return got.Assignment, nil
		case !got.Again:
			return nil, nil
		case got.Contended:
			ctx = tx.Alone(ctx)
		case got.HostsOf != nil:
			if err := w.addHosts(ctx, &q, got.HostsOf); err != nil {
				return nil, err
			}
		}
	}
	return nil, w.machine.SignalQueues(ctx, q.Queues) // so that the search goes on
}

// searches bounds how often one claim searches while runs are parked, or their slots or hosts change.
const searches = 32

// search makes one search in a unit.
func (w *Worklist) search(ctx context.Context, q runs.ClaimRequest) (got runs.ClaimResult, at time.Time, err error) {
	err = w.machine.Do(tx.Optimistic(ctx), func(ctx context.Context) error {
		var err error
		at = w.machine.Now()
		if got, err = w.queue.Claim(ctx, q, runs.LeaseTTL, at); err != nil {
			return err
		}
		if err := w.machine.SignalQueues(ctx, got.Opened); err != nil || got.Assignment == nil {
			return err
		}
		if p := got.Run.ParentID; p != "" {
			if err := w.machine.Touch(ctx, p); err != nil {
				return err
			}
		}
		if q.Then != nil {
			if err := q.Then(ctx, got.Assignment); err != nil {
				return err
			}
		}
		return w.machine.Touch(ctx, got.Run.ID)
	})
	return got, at, err
}

// addHosts adds the hosts of a run to a search.
func (w *Worklist) addHosts(ctx context.Context, q *runs.ClaimRequest, r *runs.Run) error {
	var list []string
	if w.hosts != nil {
		var err error
		if list, err = w.hosts.HostNames(ctx, r); err != nil {
			return err
		}
	}
	known := maps.Clone(q.Hosts)
	if known == nil {
		known = map[string][]string{}
	}
	known[r.ID], q.Hosts = list, known
	return nil
}

// Begin may be repeated. A repeated call changes nothing.
func (w *Worklist) Begin(ctx context.Context, l runs.Lease) error {
	var r *runs.Run
	err := w.machine.Do(tx.Optimistic(ctx), func(ctx context.Context) (err error) {
		now := w.machine.Now()
		r, err = w.queue.Begin(ctx, l, now)
		if err != nil || r == nil { // the answer to an earlier call was lost
			return err
		}
		if err := w.machine.Started(ctx, r, l); err != nil {
			return err
		}
		return w.machine.Publisher.Publish(ctx, runs.Started{RunID: l.RunID, Worker: l.Worker, At: now})
	})
	if err == nil && r != nil {
		level := slog.LevelInfo
		if r.Kind.Child() {
			level = slog.LevelDebug
		}
		w.log.Log(ctx, level, "run started", "run", r.ID, "kind", string(r.Kind), "worker",
			execution.ShownName(l.Worker))
	}
	return err
}

func (w *Worklist) Beat(ctx context.Context, worker string, leases []runs.Lease) ([]runs.Beat, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	var out []runs.Beat
	err := w.machine.Do(ctx, func(ctx context.Context) error {
		var err error
		out, err = w.queue.Beat(ctx, worker, leases, runs.LeaseTTL)
		return err
	})
	return out, err
}

// Release returns RunStateChanged for a run that began. It cancels a run whose cancellation was requested.
func (w *Worklist) Release(ctx context.Context, l runs.Lease) error {
	return w.machine.Do(ctx, func(ctx context.Context) error {
		r, err := w.machine.Store.Lock(ctx, l.RunID)
		if err != nil {
			return err
		}
		if r.Begun && r.Epoch == l.Epoch {
			return runs.RunStateChanged.New("the run began; it can only end")
		}
		return giveBack(ctx, w.machine, r, &l)
	})
}

// giveBack makes a claimed run that never began pending again, or ends it if its cancellation was requested.
func giveBack(ctx context.Context, m *lifecycle.Machine, r *runs.Run, l *runs.Lease) error {
	mv := runs.Move{ID: r.ID, From: runs.Running, To: runs.Pending, Lease: l, DropLease: true}
	if r.CancelRequested {
		mv.To, mv.DropLease = runs.Canceled, false
	}
	if _, err := m.Move(ctx, mv); err != nil || mv.To != runs.Pending {
		return err
	}
	return m.Signals.Signal(ctx, events.TopicQueue, r.Spec.Queue)
}

func (w *Worklist) Leased(ctx context.Context, worker string) ([]*runs.Run, error) {
	return w.queue.Leased(ctx, worker)
}

// Divide ends a split without hosts as succeeded, with the warning that no host matched, unless the split fails on it.
func (w *Worklist) Divide(ctx context.Context, l runs.Lease, hosts []string, warnings []runs.Warning) error {
	r, err := w.machine.Store.ByID(ctx, l.RunID)
	if err != nil {
		return err
	}
	if r.Kind != runs.Split {
		return runs.RunStateChanged.New("the run is not a split")
	}
	if err := plain(hosts); err != nil {
		return err
	}
	means, err := w.machine.Summaries.HostMeans(ctx, r.Lineage, hosts)
	if err != nil {
		return err
	}
	shards := parent.Pack(hosts, means, max(r.Spec.Shards, 1))
	return w.machine.Do(ctx, func(ctx context.Context) error { return w.divide(ctx, l, shards, warnings) })
}

func (w *Worklist) divide(ctx context.Context, l runs.Lease, shards [][]string, warnings []runs.Warning) error {
	r, err := w.machine.Store.Lock(ctx, l.RunID)
	if err != nil {
		return err
	}
	mv := runs.Move{ID: r.ID, From: runs.Running, To: runs.Succeeded, Lease: &l, Warnings: warnings}
	switch {
	case r.CancelRequested:
		mv.To = runs.Canceled
	case len(shards) == 0:
		mv.Warnings = withWarning(warnings, runs.Warning{Code: runs.WarnNoHostsMatched,
			Message: "no host matched, so nothing was done"})
	default:
		n := len(shards)
		err := w.machine.Store.Amend(ctx, r.ID,
			runs.Amendment{Lease: &l, DropLease: true, ShardCount: &n, Warnings: warnings})
		if err != nil {
			return err
		}
		if err := w.machine.AddShards(ctx, r, shards); err != nil {
			return err
		}
		return w.machine.Touch(ctx, r.ID)
	}
	lifecycle.FailOn(r, &mv)
	_, err = w.machine.Move(ctx, mv)
	return err
}
