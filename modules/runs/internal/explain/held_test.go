package explain

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// inventories has the content of now.
type inventories struct{ catalog.References }

func (inventories) Selected(context.Context, string, string) (content, hosts string, err error) {
	return "c", "h", nil
}

func (inventories) Hosts(context.Context, string, string) ([]string, error) {
	return []string{"h"}, nil
}

// named has one team.
type named struct{ identity.TeamStore }

func (named) TeamByID(_ context.Context, id string) (identity.Team, error) {
	if id == "team_1" {
		return identity.Team{Name: "network"}, nil
	}
	return identity.Team{}, identity.TeamNotFound.New("no such team")
}

// TestHeld says in words what holds a run, who decides, and what was changed since.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := &stored{run: runs.Run{Status: runs.PendingApproval, Actor: actor.Actor{Name: "ann"},
		Spec: runs.Spec{InventoryID: "inv_1"}}}
	binder := binding.New(inventories{}, nil, nil)
	parts, err := binder.Bind(t.Context(), &s.run)
	if err != nil {
		t.Fatal(err)
	}
	given := runs.Approval{Holds: []int{0, 2}, Digest: parts.Digest()}
	parts["inventory inv_1"] = "b"
	s.run.Approvals = &runs.Approvals{
		Holds: []runs.Hold{
			{ID: "pol_1", Name: "release", Message: "ask first", Needed: 2, Distinct: true},
			{ID: "pol_2", Name: "cables", Needed: 1, Teams: []string{"team_1", "team_2"}},
			{ID: "pol_3", Name: "done", Needed: 1},
			{Name: runs.RequestedApproval, Needed: 1},
		},
		Given: []runs.Approval{given}, Parts: parts,
	}
	x := s.explainer()
	x.Binder, x.Teams = binder, named{}
	e, err := x.Why(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range e.Reasons {
		got = append(got, r.Code+" "+r.Text+"; "+r.Next)
	}
	if diff := cmp.Diff([]string{
		`held_for_approval the policy "release" holds the run for approval: ask first; ` +
			`2 administrators, but not ann, approve the run, or one rejects it; 1 of 2 have approved`,
		`held_for_approval the policy "cables" holds the run for approval; ` +
			`a member of the team network or the deleted team team_2 approves or rejects the run`,
		`held_for_approval the run was submitted with require_approval, which holds it for approval; ` +
			`an administrator approves or rejects the run`,
		`changed_while_held what the run would execute has changed since it was held: inventory; ` +
			`the approvers look at it again and decide with its approval_digest`,
	}, got); diff != "" {
		t.Error(diff)
	}
}
