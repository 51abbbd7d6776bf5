package output

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// send sends one piece of the log and one of the events.
func (p *Pump) send(ctx context.Context) error {
	// A stop of the pump does not cancel a running call, since its result would be unknown.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if off, data := p.log.Peek(pieceBytes); len(data) > 0 {
		if _, err := p.plane.AppendLog(call, p.lease, runs.LogChunk{Offset: off, Data: data}); err != nil {
			return fmt.Errorf("store the log: %w", err)
		}
		p.log.Ack(off + int64(len(data)))
	}
	batch, err := p.events.Take(pieceEvents, pieceBytes)
	if err != nil || len(batch) == 0 {
		return err
	}
	if _, err := p.plane.AppendEvents(call, p.lease, batch); err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	if err := SaveFacts(call, p.plane, p.lease, batch); err != nil {
		return err
	}
	p.events.Ack()
	return nil
}

// HasFacts reports whether events contain facts.
func HasFacts(events []runs.Event) bool {
	return slices.ContainsFunc(events, func(e runs.Event) bool { return tells(&e) })
}

// tells reports whether an event contains the facts of a host, which a sink has bounded.
func tells(e *runs.Event) bool {
	return e.Type == runs.EventFacts && e.Host != "" && len(e.Facts) > 0
}

// SaveFacts stores the facts among events, if there are any.
func SaveFacts(ctx context.Context, plane runs.Journal, l runs.Lease, events []runs.Event) error {
	var facts []runs.HostFacts
	for i := range events {
		if e := &events[i]; tells(e) {
			facts = append(facts, runs.HostFacts{Host: e.Host, GatheredAt: e.At, Facts: e.Facts})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	if err := plane.SaveFacts(ctx, l, facts); err != nil {
		return fmt.Errorf("store facts: %w", err)
	}
	return nil
}

// Rest returns what Drain left, for the ending.
func (p *Pump) Rest() (runs.LogChunk, []runs.Event, error) {
	off, data := p.log.Peek(pieceBytes)
	var all []runs.Event
	for p.events.Pending() > 0 {
		some, err := p.events.Take(pieceEvents, pieceBytes)
		if err != nil {
			return runs.LogChunk{}, nil, err
		}
		all = append(all, some...)
		p.events.Ack()
	}
	return runs.LogChunk{Offset: off, Data: data}, all, nil
}

// Small reports whether the content of the spools fits into the ending: little, and without a hole in the log.
func (p *Pump) Small() bool {
	pending := p.log.Pending()
	if pending > pieceBytes || p.events.Pending() > pieceBytes {
		return false
	}
	_, data := p.log.Peek(pieceBytes)
	return int64(len(data)) == pending
}

// Refused reports whether the plane will never accept the call: the lease is lost, or the call is invalid.
func Refused(err error) bool {
	switch fault.KindOf(err) {
	case fault.Conflict, fault.NotFound, fault.Invalid, fault.TooLarge:
		return true
	default:
		return false
	}
}

// Backoff waits longer after each failure, between 50 ms and 5 s.
type Backoff struct{ last time.Duration }

// Wait pauses and reports whether ctx has not ended.
func (b *Backoff) Wait(ctx context.Context) bool {
	b.last = min(5*time.Second, max(50*time.Millisecond, 2*b.last))
	return background.Wait(ctx, b.last)
}
