package run

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of one look at the events of a run.
const (
	scanPage  = 5000
	scanLimit = 100_000
)

// scanned is how far a look at events went. Next is 0 if it saw all that there are.
type scanned struct{ After, Last, Of, Next int64 }

// scan calls yield with the events of a run after one of them, until it returns false or the bound is reached.
func (h *handlers) scan(ctx context.Context, r *runs.Run, after int64, limit int, yield func(*runs.Event) bool) (
	s scanned, err error,
) {
	s = scanned{After: after, Last: after, Of: r.EventCount}
	for left := limit; left > 0; {
		p, err := h.Reader.Events(ctx, r.ID, s.Last, min(scanPage, left))
		if err != nil {
			return s, err //nolint:wrapcheck // a fault
		}
		if len(p.Events) == 0 {
			return s, nil
		}
		for i := range p.Events {
			s.Last = p.Events[i].Seq
			if !yield(&p.Events[i]) {
				return s, nil
			}
		}
		left -= len(p.Events)
	}
	if s.Last < r.EventCount {
		s.Next = s.Last
	}
	return s, nil
}

// parts returns the runs in which a host may have results: the run itself, or those of its children.
func parts(top *head, host string) []*runs.Run {
	if !top.Run.Kind.Parent() {
		return []*runs.Run{top.Run}
	}
	var out []*runs.Run
	for _, c := range top.Children {
		if host == "" || len(c.Spec.LimitHosts) == 0 || slices.Contains(c.Spec.LimitHosts, host) {
			out = append(out, c)
		}
	}
	return out
}

// result reports whether an event is the end of a task on a host, and how it is shown.
func result(e *runs.Event) (runs.Outcome, bool) {
	switch e.Type {
	case runs.EventHostOK:
		if e.Changed {
			return runs.HostChanged, true
		}
		return runs.HostOK, true
	case runs.EventHostFailed:
		if e.Ignored {
			return runs.HostIgnored, true
		}
		return runs.HostFailed, true
	case runs.EventHostUnreachable:
		return runs.HostUnreachable, true
	case runs.EventHostSkipped:
		return runs.HostSkipped, true
	}
	return "", false
}
