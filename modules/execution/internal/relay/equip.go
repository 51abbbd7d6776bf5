package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
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

// equip fetches the secrets of a leased run's credentials while it renews the lease. If ok is false, the run is
// already settled: it ended if its secrets are unobtainable, or was released if they may be available later or the
// caller left. An error is one of the control plane, which did not accept that.
func (r *Relay) equip(ctx context.Context, a *runs.Assignment) (in secrets.Injection, ok bool, err error) {
	if len(a.Run.Spec.CredentialIDs) == 0 {
		return in, true, nil
	}
	in, err = r.unlock(ctx, a)
	switch {
	case err == nil:
		return in, true, nil
	case runs.LeaseLost.Is(err):
		r.startRevoke(a.Lease)
		return in, false, nil
	case errors.Is(err, errGone):
		r.giveBack(a.Lease)
		return in, false, ctx.Err()
	case fault.Is(err, fault.Unavailable):
		r.Log.WarnContext(ctx, "get the secrets of a run", "run", a.Lease.RunID, "error", err)
		r.pause.begin(r.Clock.Now())
		r.giveBack(a.Lease)
		return in, false, nil
	default:
		r.Log.WarnContext(ctx, "get the secrets of a run", "run", a.Lease.RunID, "error", err)
		return in, false, r.fail(ctx, a.Lease, provide.Sentence(err))
	}
}

// unlock requests the secrets. Its error is errGone if the caller left, LeaseLost if the run was lost meanwhile.
func (r *Relay) unlock(ctx context.Context, a *runs.Assignment) (secrets.Injection, error) {
	if r.Secrets == nil {
		return secrets.Injection{}, errors.New("there is no provider of secrets")
	}
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(secretTime, func() { cancel(errSilent) })
	defer late.Stop()
	stop := r.renew(a, cancel)
	in, err := provide.Secrets(bound, r.Secrets, r.Redactor, secrets.Owner{ID: a.Lease.RunID, Epoch: a.Lease.Epoch},
		a.Run.Spec.CredentialIDs)
	stop()
	switch cause := context.Cause(bound); {
	case ctx.Err() != nil:
		return secrets.Injection{}, errGone
	case cause != nil && !errors.Is(cause, errSilent): // the caller left or the run was lost, with or without secrets
		return secrets.Injection{}, cause
	case err != nil && cause != nil:
		return secrets.Injection{}, cause
	case err != nil:
		return secrets.Injection{}, err
	}
	return in, nil
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
