package overview

import (
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Bounds of what is read for the slow figures.
const (
	hostsRead = 200
	causesOf  = 4
	firesRead = 6
)

// slow are the figures of one account that are kept for a few seconds.
type slow struct {
	Day *day
	// Causes are those of the newest broken runs, by the id of the run.
	Causes map[string][]runs.FailureGroup
	Hosts  hosts
	Drift  estate.DriftPage
	// Missed are enabled schedules whose last slot made no run. Next are those that fire next.
	Missed, Next []scheduling.Schedule
}

// hosts is how the fleet is. Hosts with trouble are the first of the ranking, so that a part of it has them all.
type hosts struct {
	Total, Failed, Lost int
	// More means that there may be more hosts with trouble than were read.
	More  bool
	Flaky []estate.HostRank
}

func (h *handlers) slowOf(ctx context.Context, account string, now time.Time) (slow, error) {
	if kept, ok := h.slow.get(account, now); ok {
		return kept, nil
	}
	var s slow
	var err error
	if s.Day, err = h.dayOf(ctx, now); err != nil {
		return s, err
	}
	s.Causes = h.causes(ctx, s.Day.Broken)
	if s.Hosts, err = h.hosts(ctx); err != nil {
		return s, err
	}
	if s.Drift, err = h.Fleet.Drift.Drift(ctx, estate.DriftQuery{Window: page.Window{Limit: 1}}); err != nil {
		return s, err
	}
	if err := h.schedules(ctx, &s); err != nil {
		return s, err
	}
	h.slow.put(account, now, s)
	return s, nil
}

// causes reads why the newest broken runs failed. An item is shown without them if they cannot be read.
func (h *handlers) causes(ctx context.Context, broken []*runs.Run) map[string][]runs.FailureGroup {
	out := map[string][]runs.FailureGroup{}
	if h.Work.Insight == nil {
		return out
	}
	for _, r := range broken[:min(len(broken), causesOf)] {
		if groups, err := h.Work.Insight.Failures(ctx, r.ID); err == nil {
			out[r.ID] = groups
		}
	}
	return out
}

func (h *handlers) hosts(ctx context.Context) (out hosts, err error) {
	found, err := h.Fleet.Hosts.Hosts(ctx, estate.FleetQuery{Limit: hostsRead})
	if err != nil {
		return out, err
	}
	out.Total = found.Total
	for _, x := range found.Rows {
		switch x.LastOutcome {
		case runs.HostFailed:
			out.Failed++
		case runs.HostUnreachable:
			out.Lost++
		}
		if x.Flaky {
			out.Flaky = append(out.Flaky, x)
		}
	}
	last := len(found.Rows) - 1
	out.More = last >= 0 && found.Total > len(found.Rows) && found.Rows[last].Failures > 0
	return out, nil
}

// schedules reads at most page.MaxRows schedules.
func (h *handlers) schedules(ctx context.Context, s *slow) error {
	list, _, err := h.Work.Schedules.List(ctx, scheduling.Filter{}, page.Window{})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x scheduling.Schedule) bool { return !x.Enabled })
	for _, x := range list {
		if x.LastError != "" {
			s.Missed = append(s.Missed, x)
		}
		if !x.NextRunAt.IsZero() {
			s.Next = append(s.Next, x)
		}
	}
	slices.SortFunc(s.Next, func(a, b scheduling.Schedule) int { return a.NextRunAt.Compare(b.NextRunAt) })
	s.Next = s.Next[:min(len(s.Next), firesRead)]
	return nil
}
