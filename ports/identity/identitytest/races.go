package identitytest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func grantRace(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	for _, object := range []string{e.addObject(t, ids.Project, ""), access.Queue("q")} {
		same(t, "winners", int64(1), wins(t, 12, identity.GrantExists, func(int) error {
			g := e.grant(u, object, access.Use)
			return e.Unit.Do(t.Context(), func(ctx context.Context) error {
				first, err := e.Grants.InsertGrant(ctx, g)
				if err == nil && !first {
					t.Errorf("the only grant on %s is not the first", object)
				}
				return err
			})
		}))
		same(t, "grants", 1, len(e.grants(t, identity.GrantFilter{Object: object})))
		same(t, "rights", 1, len(e.load(t).state.Objects[object].Grants))
	}
}

func grantFirstRace(t *testing.T, e *env) {
	const n = 12
	subjects := make([]string, n)
	for i := range subjects {
		subjects[i] = identity.UserSubject(e.addAccount(t).ID)
	}
	for _, object := range []string{e.addObject(t, ids.Project, ""), access.Queue("q")} {
		firsts := make([]bool, n)
		txtest.Together(n, func(i int) {
			g := e.grant(subjects[i], object, access.Use)
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				var err error
				firsts[i], err = e.Grants.InsertGrant(ctx, g)
				return err
			})
			if err != nil {
				t.Errorf("grant to %s: %v", subjects[i], err)
			}
		})
		count := 0
		for _, first := range firsts {
			if first {
				count++
			}
		}
		same(t, "first grants", 1, count)
		same(t, "grants", n, len(e.load(t).state.Objects[object].Grants))
	}
}

// both runs two units at once and returns their errors.
func (e *env) both(t *testing.T, a, b func(ctx context.Context) error) (errA, errB error) {
	t.Helper()
	errs := make([]error, 2)
	txtest.Together(2, func(i int) {
		errs[i] = e.Unit.Do(t.Context(), []func(context.Context) error{a, b}[i])
	})
	return errs[0], errs[1]
}

// either expects no error or the fault.
func either(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if err != nil && !code.Is(err) {
		t.Errorf("%s: %v, want nothing or %s", what, err, code.Name)
	}
}

// grantLastRace: in either order, an object that has a grant at the end is restricted.
func grantLastRace(t *testing.T, e *env) {
	u, v := identity.UserSubject(e.addAccount(t).ID), identity.UserSubject(e.addAccount(t).ID)
	object := e.addObject(t, ids.Project, "")
	last := e.addGrant(t, u, object, access.Use)
	for range 8 {
		next := e.grant(v, object, access.Use)
		a, b := e.both(t, func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, last.ID) },
			func(ctx context.Context) error {
				_, err := e.Grants.InsertGrant(ctx, next)
				return err
			})
		noError(t, a)
		noError(t, b)
		same(t, "rights", identity.ObjectRights{Object: object, Restricted: true,
			Grants: []identity.SubjectLevel{{Subject: v, Level: access.Use}}}, e.load(t).state.Objects[object])
		last, u, v = next, v, u
	}
}

// grantTeamRace: no grant outlives its team.
func grantTeamRace(t *testing.T, e *env) {
	object := e.addObject(t, ids.Project, "")
	for range 8 {
		team := e.addTeam(t)
		g := e.grant(identity.TeamSubject(team.ID), object, access.Use)
		a, b := e.both(t, func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, team.ID) },
			func(ctx context.Context) error {
				_, err := e.Grants.InsertGrant(ctx, g)
				return err
			})
		noError(t, a)
		either(t, "the grant", b, identity.TeamNotFound)
		same(t, "grants", []identity.Grant{}, e.grants(t, identity.GrantFilter{}))
		same(t, "grants in the rights", []identity.SubjectLevel{}, e.load(t).state.Objects[object].Grants)
	}
}

// grantObjectRace: no grant stays visible after the removal of its object.
func grantObjectRace(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	for range 8 {
		object := e.addObject(t, ids.Project, "")
		g := e.grant(u, object, access.Use)
		a, b := e.both(t, func(ctx context.Context) error { return e.Objects.RemoveObject(ctx, object) },
			func(ctx context.Context) error {
				_, err := e.Grants.InsertGrant(ctx, g)
				return err
			})
		noError(t, a)
		either(t, "the grant", b, identity.ObjectNotFound)
		same(t, "grants", []identity.Grant{}, e.grants(t, identity.GrantFilter{}))
		_, err := e.Grants.GrantByID(t.Context(), g.ID)
		wantFault(t, err, identity.GrantNotFound)
		same(t, "the grant decides on the history", b == nil, e.load(t).state.Objects[object].Restricted)
	}
}

// memberRace: no account is in a team or an organization after its deletion.
func memberRace(t *testing.T, e *env) {
	team, org := e.addTeam(t), e.addOrg(t)
	for range 6 {
		u, v := e.addAccount(t), e.addAccount(t)
		a, b := e.both(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, u.ID) },
			func(ctx context.Context) error {
				_, err := e.Teams.AddTeamMember(ctx, team.ID, u.ID, epoch)
				return err
			})
		noError(t, a)
		either(t, "into the team", b, identity.UserNotFound)
		a, b = e.both(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, v.ID) },
			func(ctx context.Context) error {
				_, err := e.Orgs.PutOrgMember(ctx, org.ID, v.ID, identity.OrgAdmin, epoch)
				return err
			})
		noError(t, a)
		either(t, "into the organization", b, identity.UserNotFound)
	}
	same(t, "members", []identity.Member{}, e.members(t, team.ID))
	same(t, "members", []identity.Member{}, e.orgMembers(t, org.ID))
	same(t, "rights", state{}, e.load(t).state)
	_, n, err := e.Teams.ListTeams(t.Context(), page.Window{})
	noError(t, err)
	same(t, "teams", 1, n)
}
