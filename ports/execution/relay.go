package execution

import (
	"context"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Bounds of the relay.
const (
	// RelayList is how many items one call may carry.
	RelayList = 5000
	// RelayHosts is how many hosts a split may be divided over in one call.
	RelayHosts = 100_000
	// RelayWait is the longest that a claim waits for a run.
	RelayWait = 30 * time.Second
	// RelayHeads is how many signed heads a claim may show.
	RelayHeads = 16
	// RelayBody is how large the body of a call may be, in bytes.
	RelayBody = 8 << 20
	// RelayPrefix begins the names of workers that came over the relay, in leases and in the fleet: whatever a worker
	// calls itself, it is never taken for one that has the database.
	RelayPrefix = "relay/"
)

// Leaseholder is a worker's proof that it holds a run.
type Leaseholder struct {
	RunID string
	// Capability was made for one claim and is good for nothing else: 256 random bits in base64url.
	Capability secret.Text
}

// Grant is a run that was leased to a worker, or the runs that it holds and that somebody wants cancelled.
type Grant struct {
	Run             RelayRun
	Capability      secret.Text
	Lease           time.Duration
	Secrets         secrets.Injection // what the run's credentials open
	CancelRequested []string          // in place of a run
}

// Relay is the control plane as workers without a database reach it. Every method that takes a Holder is
// runs.LeaseLost where its capability does not hold the run, and changes nothing then.
type Relay interface {
	// Claim leases the oldest pending run of the worker's queues, or returns nil where none came within the time that
	// the worker waits. head is the newest signed head of the audit trail, a note, empty where there is none. A run
	// whose secrets cannot be had is ended there, and the next one is looked for. A claim with Cancels leases nothing.
	// Faults: Invalid names a member of the claim, QueueDenied.
	Claim(ctx context.Context, c RelayClaim) (g *Grant, head string, err error)
	// Beat renews the lease.
	Beat(ctx context.Context, h Leaseholder) (RelayBeat, error)
	// Run returns the run as it stands, with the variables that look secret redacted.
	Run(ctx context.Context, h Leaseholder) (RelayRun, error)
	// Save moves the run. Invalid faults name a member. A repeated call changes nothing.
	Save(ctx context.Context, h Leaseholder, s RelaySave) error
}

// RelayJournal takes what workers report. The methods are those of runs.Journal, under a capability in place of a
// lease; more items than RelayList are Invalid.
type RelayJournal interface {
	AppendLog(ctx context.Context, h Leaseholder, c runs.LogChunk) (next int64, err error)
	// AppendEvents refuses events of type status, which only the holder of the runs writes, as Invalid.
	AppendEvents(ctx context.Context, h Leaseholder, events []runs.Event) (next int64, err error)
	SaveHosts(ctx context.Context, h Leaseholder, hosts []runs.HostSummary) error
	SaveTasks(ctx context.Context, h Leaseholder, tasks []runs.TaskSummary) error
	// SaveFacts is Invalid where one of the hosts has no result of this run.
	SaveFacts(ctx context.Context, h Leaseholder, facts []runs.HostFacts) error
}

// RelayMaterials gives workers what the runs that they hold name.
type RelayMaterials interface {
	// Inventory returns the run's inventory. Faults: InventoryNotFound of package catalog, also where the run names none.
	Inventory(ctx context.Context, h Leaseholder) (RelayInventory, error)
	// Project calls open with a tar archive of the run's work tree below "project/", and of its installed requirements
	// below "roles/" and "collections/". Faults: those of catalog.Materials.Tree, ProjectNotFound also where the run
	// names none.
	Project(ctx context.Context, h Leaseholder, open func() (io.Writer, error)) error
}

// ClaimStore keeps the capabilities of claims that were made over a relay, by their SHA-256.
type ClaimStore interface {
	// PutClaim stores the capability of a lease, in place of that of an earlier claim of the run. It joins the unit of
	// ctx.
	PutClaim(ctx context.Context, hash [32]byte, l runs.Lease) error
	// ClaimOf returns the lease for which a capability was made; ok is false for an unknown one. A lease that was lost
	// may still have one: whoever writes under it is told.
	ClaimOf(ctx context.Context, hash [32]byte) (l runs.Lease, ok bool, err error)
}
