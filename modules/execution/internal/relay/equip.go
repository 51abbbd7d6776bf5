package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// secretTime bounds the time to fetch the credentials of one run.
	secretTime = 20 * time.Second
	// revokeTime bounds one attempt to revoke the secrets that were made for a run. The provider of secrets tries again
	// later.
	revokeTime = 5 * time.Second
	// pauseTime is how long no run is leased after the store of secrets did not answer: the same run would come again.
	pauseTime = time.Second
)

var (
	errGone   = errors.New("nobody waits for the run any more")
	errSilent = &fault.Error{Kind: fault.Conflict, Message: "its secrets did not come in time"}
)

// equipment is what a worker gets besides a run.
type equipment struct {
	secrets      secrets.Injection
	requirements *catalog.Repository
}

// mayInstall reports whether the worker may have to install requirements.
func (r *Relay) mayInstall(a *runs.Assignment) bool {
	return r.Requirements != nil && a.Run.Spec.ProjectID != ""
}

// equip fetches the secrets of a leased run's credentials while it renews the lease. If ok is false, the run is
// already settled: it ended if its secrets are unobtainable, or was released if they may be available later or the
// caller left. An error is one of the control plane, which did not accept that.
func (r *Relay) equip(ctx context.Context, a *runs.Assignment) (e equipment, ok bool, err error) {
	if len(a.Run.Spec.CredentialIDs) == 0 && !r.mayInstall(a) {
		return e, true, nil
	}
	e, err = r.unlock(ctx, a)
	switch {
	case err == nil:
		return e, true, nil
	case runs.LeaseLost.Is(err):
		r.startRevoke(a.Lease)
		return e, false, nil
	case errors.Is(err, errGone):
		r.giveBack(a.Lease)
		return e, false, ctx.Err()
	case fault.Is(err, fault.Unavailable):
		r.Log.WarnContext(ctx, "get the secrets of a run", "run", a.Lease.RunID, "error", err)
		r.pause.begin(r.Clock.Now())
		r.giveBack(a.Lease)
		return e, false, nil
	default:
		r.Log.WarnContext(ctx, "get the secrets of a run", "run", a.Lease.RunID, "error", err)
		return e, false, r.fail(ctx, a.Lease, provide.Sentence(err))
	}
}

// unlock requests the secrets. Its error is errGone if the caller left, LeaseLost if the run was lost meanwhile.
func (r *Relay) unlock(ctx context.Context, a *runs.Assignment) (equipment, error) {
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(secretTime, func() { cancel(errSilent) })
	defer late.Stop()
	stop := r.renew(a, cancel)
	e, err := r.provide(bound, a)
	stop()
	switch cause := context.Cause(bound); {
	case ctx.Err() != nil:
		return equipment{}, errGone
	case cause != nil && !errors.Is(cause, errSilent): // the caller left or the run was lost, with or without secrets
		return equipment{}, cause
	case err != nil && cause != nil:
		return equipment{}, cause
	case err != nil:
		return equipment{}, err
	}
	return e, nil
}

// provide returns the secrets of the credentials, and the login for requirements.
func (r *Relay) provide(ctx context.Context, a *runs.Assignment) (e equipment, err error) {
	if ids := a.Run.Spec.CredentialIDs; len(ids) > 0 {
		if r.Secrets == nil {
			return e, errors.New("there is no provider of secrets")
		}
		owner := secrets.Owner{ID: a.Lease.RunID, Epoch: a.Lease.Epoch}
		e.secrets, err = provide.Secrets(ctx, r.Secrets, r.Redactor, owner, a.Run.Approvals, ids)
	}
	if err != nil || !r.mayInstall(a) {
		return e, err
	}
	repository, wanted, err := r.Requirements.Wanted(ctx, a.Run.Spec.ProjectID)
	if err != nil || !wanted {
		return e, err
	}
	e.requirements = &repository
	for _, t := range []secret.Text{repository.Login.Password, repository.Login.Key} {
		if t != "" {
			e.secrets.Hide = append(slices.Clone(e.secrets.Hide), t)
		}
	}
	return e, nil
}

// renew renews a lease until the returned function is called, which returns when the renewal has stopped. It cancels
// the claim of the run if the lease is lost or the relay is closed.
func (r *Relay) renew(a *runs.Assignment, giveUp context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() {
		t := time.NewTicker(runs.BeatEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.waitlist.done():
				giveUp(errGone)
				return
			case <-t.C:
			}
			b, err := r.beat(ctx, a.Lease)
			switch {
			case runs.LeaseLost.Is(err):
				giveUp(err)
				return
			case err == nil && b.CancelRequested:
				a.Run.CancelRequested = true // read when this has ended
			case err != nil && ctx.Err() == nil:
				r.Log.WarnContext(ctx, "renew the lease of a run", "run", a.Lease.RunID, "error", err)
			}
		}
	})
	return func() {
		cancel()
		beats.Wait()
	}
}

// beat renews a lease. It returns LeaseLost if the lease is no longer valid.
func (r *Relay) beat(ctx context.Context, l runs.Lease) (runs.Beat, error) {
	list, err := r.Plane.Beat(ctx, l.Worker, []runs.Lease{l})
	if err != nil {
		return runs.Beat{}, err
	}
	if len(list) != 1 || list[0].Lost {
		return runs.Beat{}, lost(l.RunID)
	}
	return list[0], nil
}

// fail ends a run that cannot be granted.
func (r *Relay) fail(ctx context.Context, l runs.Lease, reason string) error {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	err := r.Plane.Finish(bound, l, runs.Ending{Status: runs.Failed, Error: reason, EndedAt: r.Clock.Now()})
	r.startRevoke(l)
	if runs.LeaseLost.Is(err) {
		return nil
	}
	return err
}

// startRevoke begins to revoke the secrets of an ended lease. If that fails, the periodic search for such leases
// revokes them later.
func (r *Relay) startRevoke(l runs.Lease) {
	if r.Secrets == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.releases <- struct{}{}:
	default:
		return
	}
	if r.closed {
		<-r.releases
		return
	}
	r.tasks.Go(func() {
		defer func() { <-r.releases }()
		ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
		defer cancel()
		if err := provide.Release(ctx, r.Secrets, secrets.Owner{ID: l.RunID, Epoch: l.Epoch}); err != nil {
			r.Log.ErrorContext(ctx, "revoke what was made for a run", "run", l.RunID, "error", err)
		}
	})
}

// leasePause is a period in which no run is leased.
type leasePause struct {
	mu    sync.Mutex
	until time.Time
}

func (c *leasePause) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = now.Add(pauseTime)
}

// active reports whether the period continues. A clock that was set back does not extend it.
func (c *leasePause) active(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.until.Sub(now)
	return left > 0 && left <= pauseTime
}
