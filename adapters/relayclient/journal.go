package relayclient

import (
	"bytes"
	"context"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// The sizes of reports. They are far below the server's limits, since proxies have lower limits, and since the server
// has few slots for large bodies.
const (
	logBytes   = 512 << 10 // of output
	partBytes  = 2 << 20   // of JSON, unless one item alone has more
	partEvents = 1000
	itemBytes  = execution.RelayBody - 1<<10 // of JSON, in one item
)

// Output without data requests the offset where the stored output ends.
func (c *Client) AppendLog(ctx context.Context, l runs.Lease, chunk runs.LogChunk) (int64, error) {
	for {
		piece := chunk.Data[:min(len(chunk.Data), logBytes)]
		body, err := encode(execution.RelayLog{Offset: chunk.Offset, Data: piece})
		if err != nil {
			return 0, err
		}
		var answer execution.RelayOffset
		if err := c.report(ctx, l, post(l.RunID, "log", body), &answer); err != nil {
			return 0, err
		}
		chunk.Offset, chunk.Data = chunk.Offset+int64(len(piece)), chunk.Data[len(piece):]
		if len(chunk.Data) == 0 {
			return answer.NextOffset, nil
		}
	}
}

// Events beyond one call are sent in further calls. An event that is too large for any call is sent without its
// documents, marked as truncated: losing them is better than losing the run.
func (c *Client) AppendEvents(ctx context.Context, l runs.Lease, events []runs.Event) (int64, error) {
	var answer execution.RelaySeq
	send := func(body []byte) error { return c.report(ctx, l, post(l.RunID, "events", body), &answer) }
	var err error
	if len(events) == 0 {
		err = send([]byte(`{"events":[]}`))
	} else {
		err = inParts("events", events, partEvents, c.event(l), send)
	}
	return answer.NextSeq, err
}

// Hosts beyond one call are sent in further calls.
func (c *Client) SaveHosts(ctx context.Context, l runs.Lease, hosts []runs.HostSummary) error {
	return c.list(ctx, l, "host-summary", func(send func([]byte) error) error {
		return inParts("hosts", execution.NewRelayHosts(hosts).Hosts, execution.RelayList, plain, send)
	})
}

// Tasks beyond one call are sent in further calls.
func (c *Client) SaveTasks(ctx context.Context, l runs.Lease, tasks []runs.TaskSummary) error {
	return c.list(ctx, l, "task-summary", func(send func([]byte) error) error {
		return inParts("tasks", execution.NewRelayTasks(tasks).Tasks, execution.RelayList, plain, send)
	})
}

// Facts beyond one call are sent in further calls. Facts of a host without a result in the run are Invalid; facts of
// one host that are too large for any call are left out and logged.
func (c *Client) SaveFacts(ctx context.Context, l runs.Lease, facts []runs.HostFacts) error {
	return c.list(ctx, l, "host-facts", func(send func([]byte) error) error {
		return inParts("facts", execution.NewRelayFacts(facts).Facts, execution.RelayList, c.facts(l), send)
	})
}

// A plan that is refused does not end the claim, so that the run can still be reported as failed.
func (c *Client) ProposeApply(ctx context.Context, l runs.Lease, p runs.Plan) (string, error) {
	k, err := c.claims.of(l)
	if err != nil {
		return "", err
	}
	if p.Findings == nil {
		p.Findings = []runs.PlanFinding{}
	}
	body, err := encode(p)
	if err != nil {
		return "", err
	}
	var answer execution.RelayPlanned
	err = c.reportBy(ctx, k, post(l.RunID, "propose-apply", body), &answer)
	return answer.RunID, err
}

func (c *Client) list(ctx context.Context, l runs.Lease, verb string, parts func(send func([]byte) error) error) error {
	return parts(func(body []byte) error { return c.report(ctx, l, post(l.RunID, verb, body), nil) })
}

// event encodes an event.
func (c *Client) event(l runs.Lease) func(e *runs.Event) ([]byte, error) {
	return func(e *runs.Event) ([]byte, error) {
		raw, err := encode(e)
		if err != nil || len(raw) <= itemBytes {
			return raw, err
		}
		c.log.Warn("an event is too large for the relay and goes without its documents", "run", l.RunID, "seq", e.Seq,
			"bytes", len(raw))
		short := *e
		short.Diff, short.Stats, short.Facts, short.Outputs, short.Truncated = nil, nil, nil, nil, true
		return encode(&short)
	}
}

// facts encodes the facts of a host, or returns nothing.
func (c *Client) facts(l runs.Lease) func(f *execution.RelayFacts) ([]byte, error) {
	return func(f *execution.RelayFacts) ([]byte, error) {
		raw, err := encode(f)
		if err != nil || len(raw) <= itemBytes {
			return raw, err
		}
		c.log.Warn("the facts of a host are too large for the relay and are left out", "run", l.RunID, "host", f.Host,
			"bytes", len(raw))
		return nil, nil
	}
}

func plain[T any](item *T) ([]byte, error) { return encode(item) }

// inParts sends a list in objects with the one member name, each with at most so many items and, except for a single
// item, at most partBytes. It leaves out items for which encode returns nothing.
func inParts[T any](
	name string, items []T, most int, encode func(item *T) ([]byte, error), send func(body []byte) error,
) error {
	var part *bytes.Buffer // each call has its own: a failed call may still be reading it
	n := 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		part.WriteString("]}")
		n = 0
		return send(part.Bytes())
	}
	for i := range items {
		raw, err := encode(&items[i])
		if err != nil {
			return err
		}
		if len(raw) == 0 {
			continue
		}
		if n == most || n > 0 && part.Len()+len(raw)+len(",]}") > partBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if n == 0 {
			part = bytes.NewBufferString(`{"` + name + `":[`)
		} else {
			part.WriteByte(',')
		}
		part.Write(raw)
		n++
	}
	return flush()
}
