package relay_test

import (
	"context"
	"sync"
	"time"

	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
)

// plane is a control plane on the real stores: every write is their compare-and-set on run, worker and epoch.
type plane struct {
	d     *db.DB
	store *sqlruns.Store

	mu     sync.Mutex
	splits map[string][]string
	plans  map[string]*executiontest.Planned
	// proposed are the plans as they arrived.
	proposed []runs.Plan
	before   func(op string) error // asked before each call
}

var _ execution.ControlPlane = (*plane)(nil)

func newPlane(d *db.DB) *plane {
	return &plane{d: d, store: sqlruns.New(d), splits: map[string][]string{},
		plans: map[string]*executiontest.Planned{}}
}

func (p *plane) hook(fn func(op string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = fn
}

// do runs one call in a unit.
func (p *plane) do(ctx context.Context, op string, fn func(ctx context.Context) error) error {
	p.mu.Lock()
	before := p.before
	p.mu.Unlock()
	if before != nil {
		if err := before(op); err != nil {
			return err
		}
	}
	return p.d.Do(ctx, fn)
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (p *plane) Claim(ctx context.Context, r runs.ClaimRequest) (a *runs.Assignment, err error) {
	err = p.do(ctx, "claim", func(ctx context.Context) error {
		got, err := p.store.Claim(ctx, r, runs.LeaseTTL, now())
		if a = got.Assignment; err == nil && a != nil && r.Then != nil {
			err = r.Then(ctx, a)
		}
		return err
	})
	return a, err
}

func (p *plane) Begin(ctx context.Context, l runs.Lease) error {
	return p.do(ctx, "begin", func(ctx context.Context) error {
		_, err := p.store.Begin(ctx, l, now())
		return err
	})
}

func (p *plane) Beat(ctx context.Context, worker string, leases []runs.Lease) (out []runs.Beat, err error) {
	err = p.do(ctx, "beat", func(ctx context.Context) error {
		out, err = p.store.Beat(ctx, worker, leases, runs.LeaseTTL)
		return err
	})
	return out, err
}

func (p *plane) Release(ctx context.Context, l runs.Lease) error {
	return p.do(ctx, "release", func(ctx context.Context) error {
		r, err := p.store.Lock(ctx, l.RunID)
		if err != nil {
			return err
		}
		if r.Begun && r.Epoch == l.Epoch {
			return runs.RunStateChanged.New("the run began")
		}
		_, err = p.store.Move(ctx, runs.Move{ID: l.RunID, From: runs.Running, To: runs.Pending, At: now(), Lease: &l,
			DropLease: true})
		if err != nil {
			return err
		}
		return p.d.Signals().Signal(ctx, events.TopicQueue, r.Spec.Queue)
	})
}

func (p *plane) Divide(ctx context.Context, l runs.Lease, hosts []string, warnings []runs.Warning) error {
	n := len(hosts)
	err := p.do(ctx, "divide", func(ctx context.Context) error {
		return p.store.Amend(ctx, l.RunID, runs.Amendment{Lease: &l, DropLease: true, ShardCount: &n, Warnings: warnings})
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.splits[l.RunID] = hosts
	}
	return err
}

func (p *plane) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	err := p.do(ctx, "finish", func(ctx context.Context) error {
		_, err := p.store.Move(ctx, runs.Move{
			ID: l.RunID, From: runs.Running, To: e.Status, At: now(), Lease: &l, ExitCode: e.ExitCode, Error: e.Error,
			Warnings: e.Warnings,
			Outputs:  e.Outputs, Commit: e.Commit, Counts: e.Counts, Touched: e.Touched, LogBytes: e.LogBytes,
			LogSHA256: e.LogSHA256, ToolVersion: e.ToolVersion, AcceptedHostKeys: e.AcceptedHostKeys,
		})
		return err
	})
	if runs.LeaseLost.Is(err) {
		r, lookup := p.store.ByID(ctx, l.RunID)
		if lookup == nil && r.Status == e.Status && r.Epoch == l.Epoch && r.Worker == l.Worker {
			return nil
		}
	}
	return err
}

func (p *plane) Leased(ctx context.Context, worker string) (out []*runs.Run, err error) {
	err = p.do(ctx, "held", func(ctx context.Context) error {
		out, err = p.store.Leased(ctx, worker)
		return err
	})
	return out, err
}

func (p *plane) AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (next int64, err error) {
	err = p.do(ctx, "log", func(ctx context.Context) error {
		s, err := p.store.AppendLog(ctx, l, c)
		next = s.Next
		return err
	})
	return next, err
}

func (p *plane) AppendEvents(ctx context.Context, l runs.Lease, list []runs.Event) (next int64, err error) {
	err = p.do(ctx, "events", func(ctx context.Context) error {
		next, err = p.store.AppendEvents(ctx, l, list)
		return err
	})
	return next, err
}

// under stores something under a lease.
func (p *plane) under(ctx context.Context, op string, l runs.Lease, save func(ctx context.Context) error) error {
	return p.do(ctx, op, func(ctx context.Context) error {
		if err := p.store.Amend(ctx, l.RunID, runs.Amendment{Lease: &l}); err != nil {
			return err
		}
		return save(ctx)
	})
}

func (p *plane) SaveHosts(ctx context.Context, l runs.Lease, hosts []runs.HostSummary) error {
	return p.under(ctx, "hosts", l, func(ctx context.Context) error { return p.store.SaveHosts(ctx, l.RunID, hosts) })
}

func (p *plane) SaveTasks(ctx context.Context, l runs.Lease, tasks []runs.TaskSummary) error {
	return p.under(ctx, "tasks", l, func(ctx context.Context) error { return p.store.SaveTasks(ctx, l.RunID, tasks) })
}

func (p *plane) SaveFacts(ctx context.Context, l runs.Lease, facts []runs.HostFacts) error {
	return p.under(ctx, "facts", l, func(ctx context.Context) error { return p.store.SaveFacts(ctx, l.RunID, facts) })
}

func (p *plane) ProposeApply(ctx context.Context, l runs.Lease, plan runs.Plan) (id string, err error) {
	err = p.under(ctx, "plan", l, func(ctx context.Context) error {
		r, err := p.store.ByID(ctx, l.RunID)
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.plans[l.RunID] == nil {
			p.plans[l.RunID] = &executiontest.Planned{}
		}
		id, err = p.plans[l.RunID].Propose(l.RunID, r.Spec.DryRun, &plan)
		p.proposed = append(p.proposed, plan)
		return err
	})
	return id, err
}
