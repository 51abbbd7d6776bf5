package identitytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func teamCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a team":               team,
		"one name at once":     teamRace,
		"members":              teamMembers,
		"what is not there":    teamMissing,
		"the teams of one":     teamsOf,
		"a deleted team":       teamDeleted,
		"one member, one name": teamMemberRenamed,
	}
}

func (e *env) join(t tb, team, user string, when time.Time) identity.Member {
	t.Helper()
	var m identity.Member
	e.must(t, func(ctx context.Context) error {
		var err error
		m, err = e.Teams.AddTeamMember(ctx, team, user, when)
		return err
	})
	return m
}

func (e *env) members(t *testing.T, team string) []identity.Member {
	t.Helper()
	list, n, err := e.Teams.TeamMembers(t.Context(), team, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

func team(t *testing.T, e *env) {
	list, n, err := e.Teams.ListTeams(t.Context(), page.Window{})
	noError(t, err)
	if len(list) != 0 || n != 0 {
		t.Errorf("a fresh store has %v of %d teams", list, n)
	}
	want := []identity.Team{
		{ID: e.id(ids.Team), Name: odd, CreatedAt: at(time.Microsecond).In(elsewhere), CreatedBy: odd},
		{ID: e.id(ids.Team), Name: "a", CreatedAt: at(0)},
		{ID: e.id(ids.Team), Name: "B", CreatedAt: at(time.Hour), CreatedBy: "usr_who"},
	}
	for _, team := range want {
		e.must(t, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, team) })
		got, err := e.Teams.TeamByID(t.Context(), team.ID)
		noError(t, err)
		same(t, "by id", team, got)
	}
	list, n, err = e.Teams.ListTeams(t.Context(), page.Window{})
	noError(t, err)
	same(t, "by name", []identity.Team{want[2], want[1], want[0]}, list)
	same(t, "total", 3, n)

	again := identity.Team{ID: e.id(ids.Team), Name: odd, CreatedAt: epoch}
	e.refused(t, identity.NameTaken, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, again) })
	err = e.do(t, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, want[1]) })
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the same team again: %v", err)
	}
	e.must(t, func(ctx context.Context) error { // names of organizations are separate from those of teams
		return e.Orgs.InsertOrg(ctx, identity.Org{ID: e.id(ids.Org), Name: "a", CreatedAt: epoch})
	})
}

func teamRace(t *testing.T, e *env) {
	same(t, "winners", int64(1), wins(t, 16, identity.NameTaken, func(int) error {
		team := identity.Team{ID: e.id(ids.Team), Name: "one", CreatedAt: epoch}
		return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, team) })
	}))
	same(t, "winners", int64(1), wins(t, 16, identity.NameTaken, func(int) error {
		org := identity.Org{ID: e.id(ids.Org), Name: "one", CreatedAt: epoch}
		return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, org) })
	}))
}

func teamMembers(t *testing.T, e *env) {
	b, a, c := e.addAccount(t, named("b")), e.addAccount(t, named("a")), e.addAccount(t, named("c "+odd))
	team, other := e.addTeam(t), e.addTeam(t, a.ID)
	same(t, "members of a new team", []identity.Member{}, e.members(t, team.ID))
	var want []identity.Member
	for _, u := range []identity.Account{a, b, c} {
		want = append(want, identity.Member{UserID: u.ID, Username: u.Username,
			AddedAt: at(time.Duration(len(want)) * time.Microsecond)})
	}
	for _, i := range []int{2, 1, 0} {
		m := want[i]
		same(t, "a new member", m, e.join(t, team.ID, m.UserID, m.AddedAt.In(elsewhere)))
		same(t, "added again", m, e.join(t, team.ID, m.UserID, at(time.Hour)))
	}
	same(t, "members", want, e.members(t, team.ID))
	same(t, "racing to add", int64(8), wins(t, 8, identity.UserNotFound, func(int) error {
		return e.Unit.Do(t.Context(), func(ctx context.Context) error {
			_, err := e.Teams.AddTeamMember(ctx, other.ID, b.ID, epoch)
			return err
		})
	}))
	remove := func(ctx context.Context) error { return e.Teams.RemoveTeamMember(ctx, team.ID, b.ID) }
	e.must(t, remove)
	e.refused(t, identity.MemberNotFound, remove)
	same(t, "members after one left", []identity.Member{want[0], want[2]}, e.members(t, team.ID))
	same(t, "members of the other team", 2, len(e.members(t, other.ID)))
}

func teamMissing(t *testing.T, e *env) {
	u, team := e.addAccount(t), e.addTeam(t)
	ctx := t.Context()
	_, err := e.Teams.TeamByID(ctx, "team_none")
	wantFault(t, err, identity.TeamNotFound)
	_, _, err = e.Teams.TeamMembers(ctx, "team_none", page.Window{})
	wantFault(t, err, identity.TeamNotFound)
	e.refused(t, identity.TeamNotFound, func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, "team_none") })
	e.refused(t, identity.TeamNotFound, func(ctx context.Context) error {
		_, err := e.Teams.AddTeamMember(ctx, "team_none", u.ID, epoch)
		return err
	})
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error {
		_, err := e.Teams.AddTeamMember(ctx, team.ID, "usr_none", epoch)
		return err
	})
	for _, pair := range [][2]string{{team.ID, u.ID}, {team.ID, "usr_none"}, {"team_none", u.ID}} {
		e.refused(t, identity.MemberNotFound, func(ctx context.Context) error {
			return e.Teams.RemoveTeamMember(ctx, pair[0], pair[1])
		})
	}
	teams, err := e.Teams.TeamsOf(ctx, "usr_none")
	noError(t, err)
	same(t, "teams of nobody", []identity.Team{}, teams)
}

func teamsOf(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	var want []identity.Team
	for n := range 4 {
		team := identity.Team{ID: e.id(ids.Team), Name: fmt.Sprint("team ", 4-n), CreatedAt: epoch, CreatedBy: odd}
		want = append([]identity.Team{team}, want...)
		e.must(t, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, team) })
		e.join(t, team.ID, u.ID, epoch)
	}
	e.addTeam(t, v.ID)
	got, err := e.Teams.TeamsOf(t.Context(), u.ID)
	noError(t, err)
	same(t, "teams by name", want, got)
}

func teamDeleted(t *testing.T, e *env) {
	u := e.addAccount(t)
	team, other := e.addTeam(t, u.ID), e.addTeam(t, u.ID)
	alone, shared := e.addObject(t, ids.Project, ""), e.addObject(t, ids.Project, "")
	e.addGrant(t, identity.TeamSubject(team.ID), alone, access.Use)
	e.addGrant(t, identity.TeamSubject(team.ID), shared, access.Use)
	kept := e.addGrant(t, identity.TeamSubject(other.ID), shared, access.Use)
	remove := func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, team.ID) }
	e.must(t, remove)
	e.refused(t, identity.TeamNotFound, remove)
	_, err := e.Teams.TeamByID(t.Context(), team.ID)
	wantFault(t, err, identity.TeamNotFound)
	_, _, err = e.Teams.TeamMembers(t.Context(), team.ID, page.Window{})
	wantFault(t, err, identity.TeamNotFound)
	teams, err := e.Teams.TeamsOf(t.Context(), u.ID)
	noError(t, err)
	same(t, "teams", []identity.Team{other}, teams)
	same(t, "grants", []identity.Grant{kept}, e.grants(t, identity.GrantFilter{}))
	same(t, "rights", state{
		Users: map[string]identity.UserRights{u.ID: {UserID: u.ID, Teams: []string{other.ID}}},
		Objects: map[string]identity.ObjectRights{
			alone: {Object: alone, Restricted: true},
			shared: {Object: shared, Restricted: true,
				Grants: []identity.SubjectLevel{{Subject: kept.Subject, Level: kept.Level}}},
		},
	}, e.load(t).state)
	next := team
	next.ID = e.id(ids.Team)
	e.must(t, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, next) }) // the name is free again
	same(t, "members of the next team", []identity.Member{}, e.members(t, next.ID))
}

func teamMemberRenamed(t *testing.T, e *env) {
	a, b := e.addAccount(t, named("a")), e.addAccount(t, named("b"))
	team := e.addTeam(t, a.ID, b.ID)
	a.Username, a.Revision = "z", 2
	e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, a) })
	same(t, "members", []identity.Member{
		{UserID: b.ID, Username: "b", AddedAt: epoch}, {UserID: a.ID, Username: "z", AddedAt: epoch},
	}, e.members(t, team.ID))
}
