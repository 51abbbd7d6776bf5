package relay

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/masking"
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
	// callTime bounds the relay's calls in addition to the work of its caller, and one call to the control plane that
	// must not be cancelled.
	callTime = 30 * time.Second
	// sideTime bounds calls that are not worth a longer wait: the fleet, the heads.
	sideTime = 5 * time.Second
)

// Records are the methods by which the relay reads runs to validate the reports of workers.
type Records struct {
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
}

// Gate decides for the worker that calls, by ctx. A claim that waits asks again, since a token may be revoked.
type Gate interface {
	// MayClaim returns why the worker may not act under a name, or not for the queues.
	MayClaim(ctx context.Context, name string, queues []string) error
	// MayReport returns LeaseLost where the lease is not that of the worker.
	MayReport(ctx context.Context, l runs.Lease) error
}

// Deps are the relay's dependencies. Secrets, Materials, Requirements, Heads and Signals may be nil.
type Deps struct {
	Gate      Gate
	Plane     execution.ControlPlane
	Claims    execution.ClaimStore
	Workers   execution.WorkerStore
	Records   Records
	Secrets   secrets.Provider
	Redactor  runs.Redactor
	Masks     *masking.Masks
	Materials catalog.Materials
	// Requirements are those that workers install.
	Requirements catalog.Requirements
	Heads        audit.Heads
	Signals      events.Signals
	Unit         tx.Unit
	Clock        clock.Clock
	Log          *slog.Logger
}

// Config are the settings.
type Config struct {
	MaxEvents  int64  // events kept for a run
	ScratchDir string // parent of work trees, absolute
}

// Relay implements all three ports of the relay. It is safe for concurrent use.
type Relay struct {
	Deps
	cfg      Config
	waitlist *waitList
	peers    *peers
	hosts    *hosts
	pause    leasePause
	trees    chan struct{} // a token for each work tree
	waits    chan struct{} // a token for each worker that waits for cancels

	mu       sync.Mutex
	closed   bool
	releases chan struct{} // a token for each run whose secrets are revoked
	tasks    sync.WaitGroup
}

var (
	_ execution.Relay          = (*Relay)(nil)
	_ execution.RelayJournal   = (*Relay)(nil)
	_ execution.RelayMaterials = (*Relay)(nil)
)

// New makes a relay. It starts nothing before the first claim.
func New(d Deps, c Config) *Relay {
	return &Relay{
		Deps: d, cfg: c, waitlist: newWaitList(d.Signals, maxWaiting), peers: newPeers(), hosts: newHosts(d.Records),
		trees: make(chan struct{}, maxTrees), waits: make(chan struct{}, maxWaiting),
		releases: make(chan struct{}, maxReleases),
	}
}

// Close ends every wait for a run and accepts no more claims. Reports of workers are still accepted. It returns when
// every goroutine of the relay has ended.
func (r *Relay) Close() {
	r.waitlist.close()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.tasks.Wait()
}

// lease returns the lease of a holder by its capability. It returns LeaseLost for a capability of another run, and for
// one of another worker.
func (r *Relay) lease(ctx context.Context, h execution.Leaseholder) (runs.Lease, error) {
	l, ok, err := r.Claims.ClaimOf(ctx, sha256.Sum256([]byte(h.Capability.Reveal())))
	if err != nil {
		return runs.Lease{}, err
	}
	if !ok || l.RunID != h.RunID {
		return runs.Lease{}, lost(h.RunID)
	}
	return l, r.Gate.MayReport(ctx, l)
}

// leasedRun returns the run of a valid lease, or LeaseLost.
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
