package relay

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/waitlist"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// maxWaiting is how many claims wait at once, for runs and for cancels.
	maxWaiting = 4096
	// maxTrees is how many work trees are sent at once.
	maxTrees = 8
	// maxReleases is how many runs' secrets are revoked at once.
	maxReleases = 64
	// callTime bounds what the relay does beside the work of its caller, and one call to the control plane that nobody
	// may cut off.
	callTime = 30 * time.Second
	// sideTime bounds what is not worth waiting for: the fleet, the heads.
	sideTime = 5 * time.Second
)

// Records is what the relay reads of runs to judge what workers say.
type Records struct {
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
}

// Deps are what the relay works with. Secrets, Materials, Heads and Signals may be nil.
type Deps struct {
	Plane     execution.ControlPlane
	Claims    execution.ClaimStore
	Workers   execution.WorkerStore
	Records   Records
	Secrets   secrets.Provider
	Materials catalog.Materials
	Heads     audit.Heads
	Signals   events.Signals
	Unit      tx.Unit
	Clock     clock.Clock
	Log       *slog.Logger
}

// Config are the settings.
type Config struct {
	Queues     []string // whose runs are given away; empty: those of every queue
	MaxEvents  int64    // events kept for a run
	ScratchDir string   // where work trees are made, absolute
}

// Relay implements all three ports of the relay. It is safe for concurrent use.
type Relay struct {
	Deps
	cfg      Config
	waitlist *waitlist.List
	peers    *peers
	hosts    *hosts
	pause    leasePause
	trees    chan struct{} // a place for each work tree
	waits    chan struct{} // a place for each worker that waits for cancels

	mu       sync.Mutex
	closed   bool
	releases chan struct{} // a place for each run whose secrets are revoked
	tasks    sync.WaitGroup
}

var (
	_ execution.Relay          = (*Relay)(nil)
	_ execution.RelayJournal   = (*Relay)(nil)
	_ execution.RelayMaterials = (*Relay)(nil)
)

// New makes a relay. Nothing runs before the first claim.
func New(d Deps, c Config) *Relay {
	return &Relay{
		Deps: d, cfg: c, waitlist: waitlist.New(d.Signals, maxWaiting), peers: newPeers(), hosts: newHosts(d.Records),
		trees: make(chan struct{}, maxTrees), waits: make(chan struct{}, maxWaiting), releases: make(chan struct{}, maxReleases),
	}
}

// Close ends every wait for a run and lets nobody claim any more. What workers report is still taken. It returns when
// nothing that the relay started runs any more.
func (r *Relay) Close() {
	r.waitlist.Close()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.tasks.Wait()
}

// lease returns what a holder holds, as far as its capability tells. LeaseLost for one that was not made for this run.
func (r *Relay) lease(ctx context.Context, h execution.Leaseholder) (runs.Lease, error) {
	l, ok, err := r.Claims.ClaimOf(ctx, sha256.Sum256([]byte(h.Capability.Reveal())))
	if err != nil {
		return runs.Lease{}, err
	}
	if !ok || l.RunID != h.RunID {
		return runs.Lease{}, lost(h.RunID)
	}
	return l, nil
}

// leasedRun returns the run of a lease that rules now. LeaseLost where it does not.
func (r *Relay) leasedRun(ctx context.Context, l runs.Lease) (*runs.Run, error) {
	run, err := r.Records.Runs.ByID(ctx, l.RunID)
	if runs.RunNotFound.Is(err) {
		return nil, lost(l.RunID)
	}
	if err != nil {
		return nil, err
	}
	if run.Status != runs.Running || run.Epoch != l.Epoch || run.Worker != l.Worker {
		return nil, lost(l.RunID)
	}
	return run, nil
}

// bearerRun returns the run of a holder.
func (r *Relay) bearerRun(ctx context.Context, h execution.Leaseholder) (*runs.Run, error) {
	l, err := r.lease(ctx, h)
	if err != nil {
		return nil, err
	}
	return r.leasedRun(ctx, l)
}

func lost(runID string) error { return runs.LeaseLost.New("the lease on run %.64q is over", runID) }
