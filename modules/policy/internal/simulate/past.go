package simulate

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

const pageSize = 1000

// Runs reads the runs of the past.
type Runs interface {
	List(ctx context.Context, f runs.Filter) (*runs.List, error)
	ByID(ctx context.Context, id string) (*runs.Run, error)
}

// Past reads runs in pages, so that a simulation holds no connection between them.
type Past struct {
	Runs  Runs
	Teams identity.TeamStore
}

// Simulate compares a policy with the runs that were created at or after from and before to, the newest first.
func (s Past) Simulate(ctx context.Context, p policy.Policy, from, to time.Time) (policy.Simulation, error) {
	r := &reading{Past: s, policy: p, teams: map[string][]string{}}
	out := Simulate(p, r.records(ctx, from, to))
	out.From, out.To, out.Truncated = from, to, r.truncated
	return out, r.err
}

// reading is one pass over runs. It ends early with err, or truncated.
type reading struct {
	Past
	policy      policy.Policy
	teams       map[string][]string // by account
	read, alone int
	truncated   bool
	err         error
}

func (r *reading) records(ctx context.Context, from, to time.Time) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		f := runs.Filter{After: from, Before: to, Limit: pageSize, SkipTotal: true, Scope: access.Everything()}
		for {
			list, err := r.Runs.List(ctx, f)
			if err != nil {
				r.err = fmt.Errorf("read runs for a simulation: %w", err)
				return
			}
			for _, run := range list.Runs {
				rec, ok := r.record(ctx, run)
				if !ok {
					return
				}
				if rec.Run != nil && !yield(rec) {
					return
				}
			}
			if list.NextCursor == "" {
				return
			}
			f.Cursor = list.NextCursor
		}
	}
}

// record completes a row of a list. It reports false at the end of the pass, and returns no run for one that was
// deleted meanwhile.
func (r *reading) record(ctx context.Context, row *runs.Run) (rec Record, ok bool) {
	whole := r.needsWhole(row)
	if r.read >= policy.MaxSimulated || whole && r.alone >= policy.MaxSimulatedAlone {
		r.truncated = true
		return rec, false
	}
	r.read++
	if whole {
		r.alone++
		var err error
		if row, err = r.Runs.ByID(ctx, row.ID); runs.RunNotFound.Is(err) {
			return rec, true
		} else if err != nil {
			r.err = fmt.Errorf("read a run for a simulation: %w", err)
			return rec, false
		}
	}
	rec = Record{Run: row}
	rec.Teams, r.err = r.teamsOf(ctx, row.Requester().ID)
	return rec, r.err == nil
}

// needsWhole reports whether the policy looks at something that lists leave out: the steps of a pipeline, and the hosts
// to which a run that was made from another one is limited.
func (r *reading) needsWhole(row *runs.Run) bool {
	return row.Kind == runs.Pipeline ||
		r.policy.Match.LimitMissing && (row.Origin.RetryOf != "" || row.Origin.RerunOf != "")
}

// teamsOf returns the teams of an account now, if the policy names actors.
func (r *reading) teamsOf(ctx context.Context, account string) ([]string, error) {
	if len(r.policy.Actors) == 0 || account == "" {
		return nil, nil
	}
	if known, ok := r.teams[account]; ok {
		return known, nil
	}
	list, err := r.Teams.TeamsOf(ctx, account)
	if err != nil {
		return nil, fmt.Errorf("read the teams of %s: %w", account, err)
	}
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.ID
	}
	r.teams[account] = out
	return out, nil
}
