package relayclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const beatWidth = 8 // leases that are renewed at once

// Leases without an answer from the server are left out; Beat returns an error if no lease got an answer.
func (c *Client) Beat(ctx context.Context, _ string, leases []runs.Lease) ([]runs.Beat, error) {
	answers, failed := make([]*runs.Beat, len(leases)), make([]error, len(leases))
	parallel(len(leases), beatWidth, func(i int) { answers[i], failed[i] = c.beat(ctx, leases[i]) })
	out := make([]runs.Beat, 0, len(leases))
	for _, b := range answers {
		if b != nil {
			out = append(out, *b)
		}
	}
	first := slices.IndexFunc(failed, func(err error) bool { return err != nil })
	if len(out) == 0 && first >= 0 {
		return nil, fmt.Errorf("renew the leases of %d runs: %w", len(leases), failed[first])
	}
	if first >= 0 {
		c.log.Warn("renew the lease of a run", "run", leases[first].RunID, "error", failed[first], "answered", len(out),
			"leases", len(leases))
	}
	return out, nil
}

func (c *Client) beat(ctx context.Context, l runs.Lease) (*runs.Beat, error) {
	var answer execution.RelayBeat
	k, err := c.claims.of(l)
	if err == nil {
		var body []byte
		if body, err = encode(execution.RelayBeatOf{RunID: l.RunID}); err == nil {
			err = c.reportBy(ctx, k, call{method: http.MethodPost, path: []string{"heartbeat"}, body: body}, &answer)
		}
	}
	switch {
	case runs.LeaseLost.Is(err):
		return &runs.Beat{RunID: l.RunID, Lost: true}, nil
	case err != nil:
		return nil, err
	}
	return &runs.Beat{RunID: l.RunID, CancelRequested: answer.CancelRequested}, nil
}

// save changes the state of a run.
func (c *Client) save(ctx context.Context, l runs.Lease, s execution.RelaySave) error {
	body, err := encode(s)
	if err != nil {
		return err
	}
	return c.report(ctx, l, post(l.RunID, "save", body), nil)
}

func (c *Client) Begin(ctx context.Context, l runs.Lease) error {
	return c.save(ctx, l, execution.RelaySave{Status: runs.Running})
}

// A release without an answer is repeated before the next claims.
func (c *Client) Release(ctx context.Context, l runs.Lease) error {
	err := c.save(ctx, l, execution.RelaySave{Status: runs.Pending})
	switch {
	case err == nil:
		c.end(l)
	case !final(err):
		c.claims.leave(key{l.RunID, l.Epoch})
	}
	return err
}

func (c *Client) Divide(ctx context.Context, l runs.Lease, hosts []string, warnings []runs.Warning) error {
	body, err := encode(execution.RelayDivision{Hosts: hosts, Warnings: warnings})
	if err == nil {
		err = c.report(ctx, l, post(l.RunID, "divide", body), nil)
	}
	if err == nil {
		c.end(l)
	}
	return err
}

// Finish reports everything that the ending carries, and then that the run ended. A claim ends when the server accepts
// its ending or refuses it for good. The server computes counts, touched hosts and the missing part of the log.
func (c *Client) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	switch e.Status {
	case runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted:
	default: // running would begin the run and pending would release it
		return fault.BadField("status", "a run does not end as %q", e.Status)
	}
	err := c.reportEnding(ctx, l, &e)
	if err == nil || runs.LeaseLost.Is(err) {
		// An ended run accepts only the same ending again: the answer to the first may have been lost.
		err = c.save(ctx, l, execution.NewRelaySave(&e))
	}
	if err == nil {
		c.end(l)
	}
	return err
}

// reportEnding reports what an ending carries.
func (c *Client) reportEnding(ctx context.Context, l runs.Lease, e *runs.Ending) error {
	if len(e.Log.Data) > 0 {
		if _, err := c.AppendLog(ctx, l, e.Log); err != nil {
			return err
		}
	}
	if len(e.Events) > 0 {
		if _, err := c.AppendEvents(ctx, l, e.Events); err != nil {
			return err
		}
	}
	if err := c.SaveHosts(ctx, l, e.Hosts); err != nil {
		return err
	}
	return c.SaveTasks(ctx, l, e.Tasks)
}

func (c *Client) end(l runs.Lease) { c.claims.end(key{l.RunID, l.Epoch}) }
