package evaluate

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Evaluator evaluates requests by the policies in force.
type Evaluator struct {
	set   *inforce.Set
	teams identity.TeamStore
	kept  atomic.Pointer[compiled]
}

// compiled are policies in force. They belong to the list that they were made of, not to its version: a version that
// is not committed yet may come to be another one.
type compiled struct {
	of    []policy.Policy
	list  []Compiled
	teams bool // a policy names teams of actors
}

func (c *compiled) is(list []policy.Policy) bool {
	return len(c.of) == len(list) && (len(list) == 0 || &c.of[0] == &list[0])
}

var _ policy.Evaluator = (*Evaluator)(nil)

// New returns an evaluator.
func New(s *inforce.Set, t identity.TeamStore) *Evaluator { return &Evaluator{set: s, teams: t} }

// Evaluate evaluates a run by policies that are checked again when the unit commits.
func (e *Evaluator) Evaluate(ctx context.Context, r *runs.Run, t []policy.Targets) (policy.Verdict, error) {
	c, version, err := e.current(ctx)
	if err != nil {
		return policy.Verdict{}, err
	}
	who := Actor{ID: r.Actor.ID}
	if c.teams {
		list, err := e.teams.TeamsOf(ctx, r.Actor.ID)
		if err != nil {
			return policy.Verdict{}, fmt.Errorf("read the teams of %s: %w", r.Actor.ID, err)
		}
		for _, team := range list {
			who.Teams = append(who.Teams, team.ID)
		}
	}
	return Request(c.list, subject.Of(r, t), who), e.set.Recheck(ctx, version)
}

func (e *Evaluator) current(ctx context.Context) (*compiled, int64, error) {
	list, version, err := e.set.Current(ctx)
	if err != nil {
		return nil, 0, err
	}
	if c := e.kept.Load(); c != nil && c.is(list) {
		return c, version, nil
	}
	c := &compiled{of: list, list: Compile(list),
		teams: slices.ContainsFunc(list, func(p policy.Policy) bool {
			return slices.ContainsFunc(p.Actors, func(s string) bool {
				kind, _, _ := identity.SubjectID(s)
				return kind == ids.Team
			})
		})}
	e.kept.Store(c)
	return c, version, nil
}
