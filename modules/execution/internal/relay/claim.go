package relay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// extraWait is how long after its wait a claim continues with the next run if the one before could not be granted.
const extraWait = 5 * time.Second

// If the worker disconnects during a claim, its leased run is released.
func (r *Relay) Claim(ctx context.Context, c execution.RelayClaim) (*execution.Grant, string, error) {
	if err := CheckClaim(&c); err != nil {
		return nil, "", err
	}
	if err := r.Gate.MayClaim(ctx, c.Worker.Name, c.Queues); err != nil {
		return nil, "", err
	}
	if c.Cancels {
		g, err := r.awaitCancel(ctx, &c)
		return g, "", err
	}
	w := r.worker(&c)
	// Heads that could not be checked stay with the worker: a newer head would replace them there.
	newest := r.newest
	if !r.checkHeads(ctx, w.Name, c.Heads) {
		newest = func(context.Context) string { return "" }
	}
	if c.Worker.Executors == 0 {
		r.removeWorker(ctx, w.Name)
		return nil, newest(ctx), nil
	}
	g, l, err := r.await(ctx, claimant{w, c.Worker.Installs}, time.Duration(c.WaitSeconds)*time.Second)
	if err != nil {
		return nil, "", err
	}
	note := newest(ctx)
	if g != nil && ctx.Err() != nil {
		r.giveBack(l)
		return nil, "", ctx.Err()
	}
	return g, note, nil
}

// claimant is a worker that claims, and whether it installs requirements.
type claimant struct {
	execution.Worker
	installs bool
}

// mayClaim asks again whether a worker may claim.
func (r *Relay) mayClaim(ctx context.Context, w *execution.Worker) error {
	return r.Gate.MayClaim(ctx, strings.TrimPrefix(w.Name, execution.RelayPrefix), w.Queues)
}

// worker returns the fleet's description of the claiming worker.
func (r *Relay) worker(c *execution.RelayClaim) execution.Worker {
	queues := c.Queues
	if len(queues) == 0 {
		queues = []string{runs.DefaultQueue}
	}
	return execution.Worker{
		Name: execution.RelayPrefix + c.Worker.Name, Kind: execution.RelayWorker, Queues: queues,
		Executors: c.Worker.Executors,
		Version:   c.Worker.Version, Labels: c.Worker.Labels, Isolation: c.Worker.Isolation,
	}
}

// await looks for a run until there is one or the wait is over, and keeps the worker in the fleet meanwhile.
func (r *Relay) await(
	ctx context.Context, w claimant, wait time.Duration,
) (*execution.Grant, runs.Lease, error) {
	place, err := r.waitlist.join(w.Queues) // before the first look, so that no later signal is missed
	if err != nil {
		return nil, runs.Lease{}, err
	}
	defer place.leave()
	r.report(ctx, w.Worker)
	over, timeout, touch := time.NewTimer(wait), time.NewTimer(wait+extraWait), time.NewTicker(execution.ReportEvery)
	defer over.Stop()
	defer timeout.Stop()
	defer touch.Stop()
	for {
		g, l, again, err := r.next(ctx, w)
		if err != nil || g != nil {
			return g, l, err
		}
		if again {
			select {
			case <-timeout.C:
				return nil, runs.Lease{}, nil
			default:
				continue
			}
		}
		for looking := false; !looking; {
			select {
			case <-touch.C:
				if err := r.mayClaim(ctx, &w.Worker); err != nil {
					return nil, runs.Lease{}, err
				}
				r.touch(ctx, w.Name)
			case <-place.woken():
				looking = true
			case <-over.C:
				return nil, runs.Lease{}, nil
			case <-r.waitlist.done():
				return nil, runs.Lease{}, nil
			case <-ctx.Done():
				return nil, runs.Lease{}, ctx.Err()
			}
		}
	}
}

// next leases one run and fetches the secrets of its credentials. again reports that there was a run that could not be
// granted.
func (r *Relay) next(
	ctx context.Context, w claimant,
) (g *execution.Grant, l runs.Lease, again bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, l, false, err
	}
	select {
	case <-r.waitlist.done():
		return nil, l, false, nil
	default:
	}
	if err := r.mayClaim(ctx, &w.Worker); err != nil {
		return nil, l, false, err
	}
	if r.pause.active(r.Clock.Now()) {
		return nil, l, false, nil
	}
	a, capability, err := r.take(ctx, w.Worker)
	if err != nil || a == nil {
		return nil, l, false, err
	}
	r.waitlist.wake(a.Run.Spec.Queue) // where one run waits, others may wait too
	e, ok, err := r.equip(ctx, a)
	if ok && e.requirements != nil && !w.installs {
		ok, err = false, r.fail(ctx, a.Lease, notInstalled(&w.Worker))
	}
	if !ok {
		return nil, l, err == nil, err
	}
	if err = r.Masks.Keep(ctx, a, e.secrets); err != nil {
		err = fmt.Errorf("keep what masks the reports of a run: %w", err)
	} else {
		err = r.mayClaim(ctx, &w.Worker) // secrets can take a while
	}
	if err != nil {
		r.giveBack(a.Lease)
		return nil, l, false, err
	}
	run := execution.NewRelayRun(a.Run)
	run.NextSeq = max(1, a.NextSeq)
	return &execution.Grant{Run: run, Capability: capability, Lease: runs.LeaseTTL, Secrets: e.secrets,
		Requirements: e.requirements}, a.Lease, false, nil
}

// notInstalled is why a run that needs requirements ends: another worker of the queue may not install them either.
func notInstalled(w *execution.Worker) string {
	return fmt.Sprintf("its project installs requirements, which this server leaves to workers, and the worker %s does "+
		"not install any; upgrade it", strings.TrimPrefix(w.Name, execution.RelayPrefix))
}

// take leases the next run together with a capability for it. It ignores cancellation, since the result would be
// unknown.
func (r *Relay) take(ctx context.Context, w execution.Worker) (*runs.Assignment, secret.Text, error) {
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes) // never fails
	capability := base64.RawURLEncoding.EncodeToString(bytes)
	hash := sha256.Sum256([]byte(capability))
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	a, err := r.Plane.Claim(bound, runs.ClaimRequest{Worker: w.Name, Queues: w.Queues,
		Then: func(ctx context.Context, a *runs.Assignment) error { return r.Claims.PutClaim(ctx, hash, a.Lease) }})
	if err != nil {
		return nil, "", fmt.Errorf("claim for %s: %w", w.Name, err)
	}
	return a, secret.Text(capability), nil
}

// giveBack releases a run that will not be executed under its lease, and revokes its secrets. If that fails, the lease
// expires.
func (r *Relay) giveBack(l runs.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if err := r.Plane.Release(ctx, l); err != nil && !runs.LeaseLost.Is(err) {
		r.Log.WarnContext(ctx, "give a run back", "run", l.RunID, "error", err)
	}
	r.startRevoke(l)
}
