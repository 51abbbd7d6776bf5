package policy_test

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// TestActorsOfSchedules takes the owner of a schedule, and the owner's teams, as who asks for its runs.
func TestActorsOfSchedules(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		owner, other, team := b.user(), b.user(), b.team()
		b.do(func(ctx context.Context) error {
			_, err := b.rights.AddTeamMember(ctx, team, owner, noon{}.Now())
			return err
		})
		named, member := holds("named"), holds("member")
		named.Actors, member.Actors = []string{"user:" + owner}, []string{"team:" + team}
		b.made(named)
		b.made(member)
		for account, want := range map[string]int{owner: 2, other: 0, "": 0} {
			r := &runs.Run{Actor: actor.Actor{Type: actor.System, ID: "sch_1"},
				Origin: runs.Origin{Source: runs.FromSchedule, SourceID: "sch_1", Owner: account}}
			var v policy.Verdict
			b.do(func(ctx context.Context) (err error) {
				v, err = b.Evaluator.Evaluate(ctx, r, nil)
				return err
			})
			if len(v.Holds) != want {
				b.t.Errorf("a schedule of %q is held by %+v", account, v.Holds)
			}
		}
	})
}
