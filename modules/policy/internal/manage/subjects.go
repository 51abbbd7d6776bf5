package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/policy"
)

// Subjects reads the accounts and teams that policies name.
type Subjects struct {
	Accounts identity.AccountStore
	Teams    identity.TeamStore
}

// added returns a policy with the actors and approver teams alone that another one lacks. An account that was deleted
// since does not prevent other changes.
func added(p, was policy.Policy) policy.Policy {
	p.Actors = without(p.Actors, was.Actors)
	p.ApproverTeams = without(p.ApproverTeams, was.ApproverTeams)
	return p
}

func without(list, known []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(known, s) })
}

// exist refuses actors and approver teams that do not exist, with a fault that names the field.
func (s Subjects) exist(ctx context.Context, p policy.Policy) error {
	for _, actor := range p.Actors {
		kind, id, _ := identity.SubjectID(actor)
		if err := s.exists(ctx, "actors", kind, id); err != nil {
			return err
		}
	}
	for _, id := range p.ApproverTeams {
		if err := s.exists(ctx, "approver_teams", ids.Team, id); err != nil {
			return err
		}
	}
	return nil
}

// exists does not name the index, since the list may be a part of the policy's.
func (s Subjects) exists(ctx context.Context, field string, kind ids.Prefix, id string) (err error) {
	missing, noun := identity.UserNotFound, "account"
	if kind == ids.Team {
		missing, noun = identity.TeamNotFound, "team"
		_, err = s.Teams.TeamByID(ctx, id)
	} else {
		_, err = s.Accounts.AccountByID(ctx, id)
	}
	if !missing.Is(err) {
		return err
	}
	f := missing.New("%s: no %s %q", field, noun, id)
	f.Fields = []fault.Field{{Location: field, Message: fmt.Sprintf("no %s %q", noun, id)}}
	return f
}

// Missing returns the actors and approver teams of a policy that do not exist, as kind and id.
func (s Subjects) Missing(ctx context.Context, p policy.Policy) ([]string, error) {
	var out []string
	for _, actor := range p.Actors {
		err := s.exist(ctx, policy.Policy{Actors: []string{actor}})
		if out = append(out, "the actor "+actor); err == nil {
			out = out[:len(out)-1]
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	for _, team := range p.ApproverTeams {
		err := s.exist(ctx, policy.Policy{ApproverTeams: []string{team}})
		if out = append(out, "the team of approvers "+team); err == nil {
			out = out[:len(out)-1]
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return out, nil
}
