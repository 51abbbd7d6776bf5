package relayclient

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	// secretTime is how long the server may take for the secrets of a run that arrived near the end of the wait. A
	// claim reserves this much of its caller's time, since a run whose answer came too late would have a lease without
	// a worker.
	secretTime  = 20 * time.Second
	releaseTime = 5 * time.Second
	maxLeft     = 8 // runs that are released again before a claim
)

// Without a pending run, Claim waits for one, within the settings and ctx. Of several calls at once one waits at the
// server, and the others wait for it. The returned claim is on disk; if it cannot be written, Claim releases the run
// and returns an error. QueueDenied and Invalid are the server's final refusals; the result of any other failed claim
// is unknown, which is Unavailable.
func (c *Client) Claim(ctx context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	peer := c.cfg.Worker
	peer.Name = c.name(r.Worker)
	q := execution.RelayClaim{Worker: peer, Queues: r.Queues, Heads: c.heads.list()}
	if len(q.Queues) == 0 {
		q.Queues = c.cfg.Queues
	}
	g, err := c.queue(ctx, q)
	if g == nil || err != nil {
		return nil, err
	}
	k, err := c.acceptGrant(g, peer.Name)
	if err == nil {
		if err = c.claims.put(k, g.Secrets, g.Requirements); err != nil {
			err = fmt.Errorf("keep the claim of the run %s: %w", k.run, err)
		}
	}
	if err != nil {
		c.releaseGrant(ctx, g)
		return nil, err
	}
	return &runs.Assignment{
		Run: g.Run.Record(), Lease: runs.Lease{RunID: k.run, Worker: k.worker, Epoch: k.epoch},
		NextSeq: max(1, g.Run.NextSeq),
	}, nil
}

// queue requests a run when it is its turn. It returns nil if the claim that waited before it found none.
func (c *Client) queue(ctx context.Context, q execution.RelayClaim) (g *execution.RelayGrant, err error) {
	for c.quiet.Err() == nil {
		wait := c.waitTime(ctx)
		if wait == 0 {
			return c.seek(ctx, q, 0)
		}
		turn, own := c.turns.take()
		if own {
			defer func() { c.turns.end(turn, g != nil) }()
			return c.seek(ctx, q, wait)
		}
		select {
		case <-turn.over:
			if !turn.found {
				return nil, nil
			}
		case <-ctx.Done():
			return nil, nil
		case <-c.quiet.Done():
		}
	}
	return nil, nil
}

// seek requests a run from the server, which may wait for one.
func (c *Client) seek(ctx context.Context, q execution.RelayClaim, wait time.Duration) (*execution.RelayGrant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(c.quiet, cancel)
	defer stop()
	c.releaseLeft(ctx)
	g, err := c.askUntil(ctx, q, wait, stop)
	if err != nil && c.quiet.Err() != nil {
		return nil, nil
	}
	return g, err
}

// releaseLeft releases runs whose release had an unknown result, before their leases expire.
func (c *Client) releaseLeft(ctx context.Context) {
	list := c.claims.matching(func(e *entry) bool { return e.left })
	for _, k := range list[:min(len(list), maxLeft)] {
		bound, cancel := context.WithTimeout(ctx, releaseTime)
		err := c.Release(bound, runs.Lease{RunID: k.run, Worker: k.worker, Epoch: k.epoch})
		cancel()
		if err != nil && !final(err) {
			return
		}
	}
}

// waitTime returns how long a claim waits at the server: whole seconds that end before the caller's deadline.
func (c *Client) waitTime(ctx context.Context) time.Duration {
	wait := c.cfg.Wait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-secretTime)
	}
	return max(0, wait.Truncate(time.Second))
}

// ask makes a claim; it returns nil if no run is pending.
func (c *Client) ask(ctx context.Context, q execution.RelayClaim, wait time.Duration) (*execution.RelayGrant, error) {
	return c.askUntil(ctx, q, wait, func() bool { return true })
}

// askUntil is ask with a callback: it calls begun when the response begins. From then on the client reads it to its
// end, since it may hold a run.
func (c *Client) askUntil(
	ctx context.Context, q execution.RelayClaim, wait time.Duration, onAnswer func() bool,
) (*execution.RelayGrant, error) {
	q.WaitSeconds = int(wait / time.Second)
	body, err := encode(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait+callTime)
	defer cancel()
	resp, err := c.server.send(ctx, call{method: http.MethodPost, path: []string{"claim"}, body: body, once: true})
	if err != nil {
		return nil, err
	}
	defer done(resp)
	onAnswer()
	c.heads.save(resp.Header.Get(execution.HeadHeader))
	if resp.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	var g execution.RelayGrant
	if err := read(resp, &g, largeAnswer); err != nil {
		return nil, err
	}
	return &g, nil
}

// acceptGrant returns the claim of a grant. It returns Unavailable if the grant cannot be one of this worker.
func (c *Client) acceptGrant(g *execution.RelayGrant, name string) (claim, error) {
	k := claimOf(g)
	if err := k.check(); err != nil {
		return claim{}, unusable("the server's answer to a claim cannot be used: %v", err)
	}
	if k.worker != execution.RelayPrefix+name {
		return claim{}, unusable("the server gave the run %s to another worker than asked for it", k.run)
	}
	return k, nil
}

func claimOf(g *execution.RelayGrant) claim {
	r := &g.Run
	return claim{
		run: r.ID, epoch: r.Epoch, worker: r.Worker, capability: secret.Text(g.Capability), kind: r.Kind,
		project: r.ProjectID, inventory: r.InventoryID, commit: r.Commit,
	}
}

// releaseGrant releases a run that this worker cannot accept. If that fails, its lease expires.
func (c *Client) releaseGrant(ctx context.Context, g *execution.RelayGrant) {
	k := claimOf(g)
	if k.check() != nil {
		return
	}
	body, err := encode(execution.RelaySave{Status: runs.Pending})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		what := post(k.run, "save", body)
		what.capability = k.capability
		err = c.server.do(ctx, what, nil)
	}
	if err != nil {
		c.log.Warn("give back a run that could not be taken", "run", k.run, "error", err)
	}
}

const heldWidth = 8 // runs that are requested at once

// Leased returns the runs that this worker claimed, also before a restart, and that the server has not taken away.
func (c *Client) Leased(ctx context.Context, worker string) ([]*runs.Run, error) {
	list, err := c.claims.active(cmp.Or(worker, c.cfg.Worker.Name))
	if err != nil {
		return nil, err
	}
	found, failed := make([]*runs.Run, len(list)), make([]error, len(list))
	parallel(len(list), heldWidth, func(i int) { found[i], failed[i] = c.fetchRun(ctx, list[i]) })
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(r *runs.Run) bool { return r == nil }), nil
}

// fetchRun requests a run; it returns nil for a run that is no longer held. A final refusal for one run does not block
// the others.
func (c *Client) fetchRun(ctx context.Context, k claim) (*runs.Run, error) {
	var body execution.RelayRun
	what := get(k.run)
	what.limit = largeAnswer
	switch err := c.reportBy(ctx, k, what, &body); {
	case runs.LeaseLost.Is(err):
		return nil, nil
	case err != nil && !final(err):
		return nil, fmt.Errorf("ask for the run %s: %w", k.run, err)
	case err != nil:
		c.log.Error("the server tells nothing of a run that this worker claimed; its lease is left to run out", "run", k.run,
			"error", err)
		c.claims.end(k.key())
		return nil, nil
	}
	if body.ID != k.run || body.Epoch != k.epoch || body.Status.Terminal() {
		c.claims.end(k.key())
		return nil, nil
	}
	return body.Record(), nil
}
