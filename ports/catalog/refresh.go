package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
)

// SyncLife is how long the fetch of a project's repository lasts at most.
const SyncLife = 2 * time.Minute

// Times of refreshes that executors do.
const (
	// RefreshWait is how long a refresh waits for an executor, also for another one after the first has died.
	RefreshWait = time.Minute
	// RefreshLife is how long a refresh lasts altogether; nobody waits for it any more then.
	RefreshLife = 6 * time.Minute
	// RefreshKept is how long a result waits for whoever asked for it.
	RefreshKept = time.Minute
)

// NoExecutor is the fault of a refresh that no executor took in time.
var NoExecutor = fault.Code{Name: "no_executor", Kind: fault.Unavailable}

// Executed reports whether a source of this kind runs a program, which only executors do.
func (k SourceKind) Executed() bool { return k == ScriptSource || k == PluginSource }

// RefreshLease is the claim of an executor on the refresh of a source. Its epoch grows with each claim.
type RefreshLease struct {
	SourceID string
	Epoch    int64
	Worker   string
}

// RefreshClaim is the search of an executor for a refresh of some queues. The hash is that of a capability, nil for
// none.
type RefreshClaim struct {
	Worker string
	Queues []string
	Hash   []byte
	TTL    time.Duration
}

// ClaimedRefresh is a refresh that an executor does, of a source at a revision.
type ClaimedRefresh struct {
	RefreshLease
	Revision int64
}

// RefreshResult is what an executor found: the content, or one sentence about the failure.
type RefreshResult struct {
	Content []byte
	Format  Format
	Failure string
}

// RefreshState is the state of one round of refreshes of a source.
type RefreshState struct {
	// Over means that another process that waited for it has stored the result, or given up. Missed means that it was
	// given up since no executor held it.
	Over, Missed bool
	// Held means that an executor has a valid lease on it.
	Held bool
	// Done tells that the result is there.
	Done   bool
	Result RefreshResult
}

// RefreshStore stores the refreshes that executors are to do, at most one for each source. Writes join the unit of work
// in ctx; times are those of the leases' clock.
type RefreshStore interface {
	// AskRefresh asks for a refresh of a source at a revision, by an executor of a queue, and returns its round. A round
	// of the same revision that is not over is joined, if somebody may still wait for it.
	AskRefresh(ctx context.Context, sourceID string, revision int64, queue string) (round int64, err error)
	// RefreshState returns the state of a round. A round that a later one replaced, or of a source that was deleted, is
	// over.
	RefreshState(ctx context.Context, sourceID string, round int64) (RefreshState, error)
	// EndRefresh ends a round: one that is done, or one that nobody holds. Of several callers one gets true.
	EndRefresh(ctx context.Context, sourceID string, round int64, done bool) (bool, error)
}

// RefreshQueue hands refreshes to executors. Writes join the unit of work in ctx. LeaseLost of package runs is the
// fault of a lease that is over: another executor has the refresh, or nobody wants it any more.
type RefreshQueue interface {
	// ClaimRefresh leases the refresh that waits longest, also one whose lease has expired.
	ClaimRefresh(ctx context.Context, c RefreshClaim) (r ClaimedRefresh, ok bool, err error)
	RenewRefresh(ctx context.Context, l RefreshLease, ttl time.Duration) error
	// ReleaseRefresh lets another executor take it. A lost lease is no error.
	ReleaseRefresh(ctx context.Context, l RefreshLease) error
	ReportRefresh(ctx context.Context, l RefreshLease, r RefreshResult) error
	// KeepRefreshSecrets stores sealed secrets until the end of the lease.
	KeepRefreshSecrets(ctx context.Context, l RefreshLease, sealed []byte) error
	// RefreshOf returns the valid lease of a capability, with the secrets that were kept.
	RefreshOf(ctx context.Context, hash []byte) (l RefreshLease, sealed []byte, ok bool, err error)
}

// Refreshes is how an executor gets refreshes, does them and reports.
type Refreshes interface {
	// Claim returns the next refresh for a worker of some queues; ok is false if there is none.
	Claim(ctx context.Context, worker string, queues []string) (r ClaimedRefresh, ok bool, err error)
	// Prepare returns what is to be collected. A checkout is made below dir, which is an empty directory of the caller, or
	// none if that is empty; done gives back what the credential provided. It is never nil. A fault is the reason of a
	// failed refresh.
	Prepare(ctx context.Context, r ClaimedRefresh, dir string) (c Collection, done func(), err error)
	// Checkout makes the checkout of a source that has a project, in a directory that does not exist.
	Checkout(ctx context.Context, l RefreshLease, dir string) error
	// Renew and Report return LeaseLost of package runs. Release is for a refresh that was not done.
	Renew(ctx context.Context, l RefreshLease) error
	Report(ctx context.Context, l RefreshLease, r RefreshResult) error
	Release(ctx context.Context, l RefreshLease) error
}

// RefreshRecord returns the record name for which the secrets of a claim are sealed.
func RefreshRecord(sourceID string) string { return "refresh/" + sourceID }

// Secrets returns every secret text of an Access.
func (a Access) Secrets() []secret.Text {
	var out []secret.Text
	for _, list := range []map[string]secret.Text{a.Env, a.Headers, a.Files} {
		for _, v := range list {
			out = append(out, v)
		}
	}
	return out
}
