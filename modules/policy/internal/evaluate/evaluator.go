package evaluate

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Evaluator evaluates requests by the policies and windows in force.
type Evaluator struct {
	set      *inforce.Set
	windows  policy.WindowStore
	calendar policy.Calendar
	clock    clock.Clock
	teams    identity.TeamStore
	kept     atomic.Pointer[compiled]
}

// compiled are rules in force. They belong to the rules that they were made of, not to a version: a version that is not
// committed yet may come to be another one.
type compiled struct {
	of      *inforce.Rules
	list    []Compiled
	teams   bool // a policy names teams of actors
	windows []compiledWindow
}

var _ policy.Evaluator = (*Evaluator)(nil)

// New returns an evaluator.
func New(
	s *inforce.Set, w policy.WindowStore, c policy.Calendar, now clock.Clock, t identity.TeamStore,
) *Evaluator {
	return &Evaluator{set: s, windows: w, calendar: c, clock: now, teams: t}
}

// Evaluate evaluates a run by rules that are checked again when the unit commits.
func (e *Evaluator) Evaluate(ctx context.Context, r *runs.Run, t []policy.Targets) (policy.Verdict, error) {
	rules, err := e.set.Current(ctx)
	if err != nil {
		return policy.Verdict{}, err
	}
	out, err := e.verdict(ctx, rules, r, t)
	if err != nil {
		return policy.Verdict{}, err
	}
	return out, e.set.Recheck(ctx, rules)
}

// Preview evaluates a run by rules that may be replaced before it is asked for.
func (e *Evaluator) Preview(ctx context.Context, r *runs.Run, t []policy.Targets) (policy.Verdict, error) {
	rules, err := e.set.Fresh(ctx)
	if err != nil {
		return policy.Verdict{}, err
	}
	return e.verdict(ctx, rules, r, t)
}

func (e *Evaluator) verdict(
	ctx context.Context, rules *inforce.Rules, r *runs.Run, t []policy.Targets,
) (policy.Verdict, error) {
	c, err := e.compiled(rules)
	if err != nil {
		return policy.Verdict{}, err
	}
	who := Actor{ID: r.Requester().ID}
	if c.teams {
		list, err := e.teams.TeamsOf(ctx, who.ID)
		if err != nil {
			return policy.Verdict{}, fmt.Errorf("read the teams of %s: %w", who.ID, err)
		}
		for _, team := range list {
			who.Teams = append(who.Teams, team.ID)
		}
	}
	subjects := subject.Of(r, t)
	out := Request(c.list, subjects, who)
	if out.Denied == nil {
		out.Timing = e.timing(c, subjects)
	}
	return out, nil
}

func (e *Evaluator) compiled(r *inforce.Rules) (*compiled, error) {
	if c := e.kept.Load(); c != nil && c.of == r {
		return c, nil
	}
	windows, err := compileWindows(r.Windows, e.calendar)
	if err != nil {
		return nil, err
	}
	c := &compiled{of: r, list: Compile(r.Policies), windows: windows,
		teams: slices.ContainsFunc(r.Policies, func(p policy.Policy) bool {
			return slices.ContainsFunc(p.Actors, func(s string) bool {
				kind, _, _ := identity.SubjectID(s)
				return kind == ids.Team
			})
		})}
	e.kept.Store(c)
	return c, nil
}
