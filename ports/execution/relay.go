package execution

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Bounds of the relay.
const (
	// RelayList is the maximum number of items in one call.
	RelayList = 5000
	// RelayHosts is the maximum number of hosts for dividing a split in one call.
	RelayHosts = 100_000
	// RelayWait is the longest wait of a claim for a run.
	RelayWait = 30 * time.Second
	// RelayHeads is the maximum number of signed heads in a claim.
	RelayHeads = 16
	// RelayBody is the maximum size of a call's body, in bytes.
	RelayBody = 8 << 20
	// RelayResult is that of a result of work: the largest inventory in base64, and the rest of the result.
	RelayResult = catalog.MaxInventory/3*4 + 64<<10
	// RelayPlan is that of a plan: the longest texts, of which JSON makes twice as much at most, since line feeds, tabs,
	// quotes and backslashes are escaped, and the rest of the largest number of findings.
	RelayPlan = 2*extension.PlanSize + 256<<10
	// RelayPrefix begins the names of relay workers in leases and in the fleet, so that no name of a relay worker
	// equals that of a worker with the database.
	RelayPrefix = "relay/"
	// NameMark stands between the name that was given to a worker and the end of its id, which tells workers of one name
	// apart. No given name contains it.
	NameMark = "~"
)

// ShownName returns the name of a worker as it was given, its id if none was given. For readers, its kind tells how it
// reaches the runs.
func ShownName(worker string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(worker, RelayPrefix), NameMark)
	return name
}

// Leaseholder is a worker's proof that it holds a run.
type Leaseholder struct {
	RunID string
	// Capability is made for one claim and is valid only for it: 256 random bits in base64url.
	Capability secret.Text
}

// Grant is a run that was leased to a worker, or the runs of the worker whose cancel was requested.
type Grant struct {
	Run        RelayRun
	Capability secret.Text
	Lease      time.Duration
	Secrets    secrets.Injection // of the run's credentials
	// Requirements is the repository with the login for the requirements of the run's project; nil if the worker has none
	// to install.
	Requirements    *catalog.Repository
	CancelRequested []string       // instead of a run
	Work            *RelayWork     // instead of a run
	Access          catalog.Access // of the work
}

// Relay is the control plane for workers without a database. Every method with a Leaseholder returns runs.LeaseLost if
// its capability does not hold the run, and changes nothing then.
type Relay interface {
	// Claim leases the oldest pending run of the worker's queues, or returns nil if none came within the worker's wait.
	// head is the newest signed head of the audit trail, a note, empty for none. Claim ends a run whose secrets are
	// unobtainable, and continues with the next one. A claim with Cancels leases nothing, one with Work leases work
	// instead of a run. Faults: Invalid names a
	// member of the claim, QueueDenied.
	Claim(ctx context.Context, c RelayClaim) (g *Grant, head string, err error)
	// Beat renews the lease.
	Beat(ctx context.Context, h Leaseholder) (RelayBeat, error)
	// Run returns the run's current state, with the variables that look secret redacted.
	Run(ctx context.Context, h Leaseholder) (RelayRun, error)
	// Save changes the state of the run. Invalid faults name a member. A repeated call changes nothing.
	Save(ctx context.Context, h Leaseholder, s RelaySave) error
	// Divide divides a running split over hosts, which ends the claim. Invalid faults name a member.
	Divide(ctx context.Context, h Leaseholder, d RelayDivision) error
}

// RelayJournal accepts the reports of workers. The methods are those of runs.Journal, with a capability in place of a
// lease; more items than RelayList are Invalid.
type RelayJournal interface {
	AppendLog(ctx context.Context, h Leaseholder, c runs.LogChunk) (next int64, err error)
	// AppendEvents refuses events of type status as Invalid, since only the holder of the runs writes them.
	AppendEvents(ctx context.Context, h Leaseholder, events []runs.Event) (next int64, err error)
	SaveHosts(ctx context.Context, h Leaseholder, hosts []runs.HostSummary) error
	SaveTasks(ctx context.Context, h Leaseholder, tasks []runs.TaskSummary) error
	// SaveFacts returns Invalid if one of the hosts has no result in this run.
	SaveFacts(ctx context.Context, h Leaseholder, facts []runs.HostFacts) error
	// ProposeApply is that of runs.Planner.
	ProposeApply(ctx context.Context, h Leaseholder, p runs.Plan) (runID string, err error)
}

// RelayMaterials provides workers with the materials of the runs that they hold.
type RelayMaterials interface {
	// Inventory returns the run's inventory. Faults: InventoryNotFound of package catalog, also if the run names none.
	Inventory(ctx context.Context, h Leaseholder) (RelayInventory, error)
	// Project calls open and writes a tar archive of the run's work tree below "project/", and of its installed
	// requirements below "roles/" and "collections/". Faults: those of catalog.Materials.Tree, ProjectNotFound also if
	// the run names none.
	Project(ctx context.Context, h Leaseholder, open func() (io.Writer, error)) error
}

// ClaimSecretStore stores what masks the reports of claims over a relay, sealed, until the claims are over. Writes join
// the unit of ctx.
type ClaimSecretStore interface {
	// PutSecrets stores the sealed secrets of a claim, in place of what is stored of an earlier claim of the run.
	PutSecrets(ctx context.Context, l runs.Lease, sealed []byte) error
	// SecretsOf returns the sealed secrets of a claim, nil for none.
	SecretsOf(ctx context.Context, l runs.Lease) ([]byte, error)
	// PutTail stores the sealed end of a claim's output that may be the beginning of a secret, nil for none. Of a claim
	// without secrets nothing is stored.
	PutTail(ctx context.Context, l runs.Lease, sealed []byte) error
	TailOf(ctx context.Context, l runs.Lease) ([]byte, error)
	// DropSecrets deletes what is stored of a claim.
	DropSecrets(ctx context.Context, l runs.Lease) error
	// ForgetSecrets deletes what is stored of claims whose lease is over.
	ForgetSecrets(ctx context.Context) error
}

// SecretsRecord is for which record the secrets of a claim are sealed.
func SecretsRecord(runID string, epoch int64) string {
	return fmt.Sprintf("relay_secrets/%s/%d", runID, epoch)
}

// ClaimStore stores the capabilities of claims over a relay, by their SHA-256.
type ClaimStore interface {
	// PutClaim stores the capability of a lease, in place of that of an earlier claim of the run. It joins the unit of
	// ctx.
	PutClaim(ctx context.Context, hash [32]byte, l runs.Lease) error
	// ClaimOf returns the lease of a capability; ok is false for an unknown one. It may return a lost lease: writes
	// under it fail.
	ClaimOf(ctx context.Context, hash [32]byte) (l runs.Lease, ok bool, err error)
}
