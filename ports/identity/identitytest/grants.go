package identitytest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func grantCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a grant reads back whole":              grantWhole,
		"the first grant restricts":             grantFirst,
		"the last grant opens":                  grantLast,
		"the same grant twice":                  grantTwice,
		"grants add up":                         grantsAddUp,
		"subjects and objects that are not":     grantMissing,
		"a queue exists by being named":         grantQueue,
		"filters":                               grantFilters,
		"grants of what is gone":                grantHidden,
		"one grant at once":                     grantRace,
		"one first grant at once":               grantFirstRace,
		"the last grant goes as another comes":  grantLastRace,
		"a grant to a team that goes":           grantTeamRace,
		"a grant on an object that goes":        grantObjectRace,
		"a member is added as the account goes": memberRace,
	}
}

func (e *env) grants(t *testing.T, f identity.GrantFilter) []identity.Grant {
	t.Helper()
	list, n, err := e.Grants.ListGrants(t.Context(), f, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

func grantWhole(t *testing.T, e *env) {
	if got := e.grants(t, identity.GrantFilter{}); len(got) != 0 {
		t.Errorf("a fresh store has the grants %v", got)
	}
	u := e.addAccount(t)
	team := e.addTeam(t)
	for i, kind := range []ids.Prefix{ids.Project, ids.Template, ids.Inventory, ids.Credential} {
		want := e.grant(identity.UserSubject(u.ID), e.addObject(t, kind, ""),
			[]access.Level{access.Read, access.Use, access.Manage}[i%3])
		if i%2 == 1 {
			want.Subject = identity.TeamSubject(team.ID)
		}
		want.CreatedAt, want.CreatedBy = want.CreatedAt.In(elsewhere), []string{"", odd}[i%2]
		_, err := e.insertGrant(t, want)
		noError(t, err)
		got, err := e.Grants.GrantByID(t.Context(), want.ID)
		noError(t, err)
		same(t, "by id", want, got)
		list := e.grants(t, identity.GrantFilter{Object: want.Object})
		same(t, "in a list", []identity.Grant{want}, list)
	}
}

func grantFirst(t *testing.T, e *env) {
	u, v := identity.UserSubject(e.addAccount(t).ID), identity.UserSubject(e.addAccount(t).ID)
	org := e.addOrg(t)
	object, other := e.addObject(t, ids.Template, org.ID), e.addObject(t, ids.Template, org.ID)
	same(t, "rights before", identity.ObjectRights{Object: object, Org: org.ID}, e.load(t).state.Objects[object])
	for i, g := range []identity.Grant{
		e.grant(u, object, access.Use), e.grant(v, object, access.Use), e.grant(u, object, access.Read),
	} {
		first, err := e.insertGrant(t, g)
		noError(t, err)
		same(t, "first", i == 0, first)
		if got := e.load(t).state.Objects[object]; !got.Restricted || len(got.Grants) != i+1 || got.Org != org.ID {
			t.Errorf("after %d grants the rights are %+v", i+1, got)
		}
	}
	first, err := e.insertGrant(t, e.grant(u, other, access.Use))
	noError(t, err)
	same(t, "first on another object", true, first)
}

func grantLast(t *testing.T, e *env) {
	u, v := identity.UserSubject(e.addAccount(t).ID), identity.UserSubject(e.addAccount(t).ID)
	object, other := e.addObject(t, ids.Template, ""), e.addObject(t, ids.Template, "")
	a, b := e.addGrant(t, u, object, access.Use), e.addGrant(t, v, object, access.Read)
	e.addGrant(t, u, other, access.Read)
	e.dropGrant(t, a)
	e.refused(t, identity.GrantNotFound, func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, a.ID) })
	_, err := e.Grants.GrantByID(t.Context(), a.ID)
	wantFault(t, err, identity.GrantNotFound)
	same(t, "with one left", identity.ObjectRights{Object: object, Restricted: true,
		Grants: []identity.SubjectLevel{{Subject: v, Level: access.Read}}}, e.load(t).state.Objects[object])
	e.dropGrant(t, b)
	rights := e.load(t).state.Objects
	if _, ok := rights[object]; ok || !rights[other].Restricted {
		t.Errorf("after the last one: %+v", rights)
	}
	first, err := e.insertGrant(t, e.grant(v, object, access.Manage))
	noError(t, err)
	same(t, "first once more", true, first)
	same(t, "restricted once more", true, e.load(t).state.Objects[object].Restricted)
}

func grantTwice(t *testing.T, e *env) {
	u, object := identity.UserSubject(e.addAccount(t).ID), e.addObject(t, ids.Project, "")
	want := e.addGrant(t, u, object, access.Use)
	_, err := e.insertGrant(t, e.grant(u, object, access.Use))
	wantFault(t, err, identity.GrantExists)
	same(t, "grants", []identity.Grant{want}, e.grants(t, identity.GrantFilter{}))
	e.dropGrant(t, want)
	want = e.addGrant(t, u, object, access.Use)
	same(t, "granted anew", []identity.Grant{want}, e.grants(t, identity.GrantFilter{}))
}

func grantsAddUp(t *testing.T, e *env) {
	u, object := identity.UserSubject(e.addAccount(t).ID), e.addObject(t, ids.Project, "")
	want := []identity.Grant{e.addGrant(t, u, object, access.Use), e.addGrant(t, u, object, access.Read),
		e.addGrant(t, u, object, access.Manage)}
	same(t, "grants", want, e.grants(t, identity.GrantFilter{Subject: u, Object: object}))
	same(t, "rights", []identity.SubjectLevel{{Subject: u, Level: access.Use}, {Subject: u, Level: access.Read},
		{Subject: u, Level: access.Manage}},
		e.load(t).state.Objects[object].Grants)
	same(t, "it is one object", []string{object},
		e.readable(t, identity.KindProject, access.Scope{Subjects: []string{u}, Strict: true}))
	e.dropGrant(t, want[2])
	same(t, "the others stay", want[:2], e.grants(t, identity.GrantFilter{}))
}

func grantMissing(t *testing.T, e *env) {
	u, team := e.addAccount(t), e.addTeam(t)
	object, gone := e.addObject(t, ids.Project, ""), e.addObject(t, ids.Project, "")
	e.remove(t, gone)
	for _, c := range []struct {
		subject, object string
		want            func(error) bool
	}{
		{identity.UserSubject("usr_none"), object, identity.UserNotFound.Is},
		{identity.TeamSubject("team_none"), object, identity.TeamNotFound.Is},
		{identity.UserSubject(team.ID), object, identity.UserNotFound.Is},
		{identity.TeamSubject(u.ID), object, identity.TeamNotFound.Is},
		{identity.UserSubject("usr_none"), access.Queue("q"), identity.UserNotFound.Is},
		{identity.UserSubject(u.ID), "prj_none", identity.ObjectNotFound.Is},
		{identity.TeamSubject(team.ID), "tpl_none", identity.ObjectNotFound.Is},
		{identity.UserSubject(u.ID), gone, identity.ObjectNotFound.Is},
	} {
		if _, err := e.insertGrant(t, e.grant(c.subject, c.object, access.Use)); !c.want(err) {
			t.Errorf("%s on %s: %v", c.subject, c.object, err)
		}
	}
	_, err := e.Grants.GrantByID(t.Context(), "grt_none")
	wantFault(t, err, identity.GrantNotFound)
	e.refused(t, identity.GrantNotFound, func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, "grt_none") })
	same(t, "rights", state{}, e.load(t).state)
	same(t, "nothing is restricted", []string{object}, e.readable(t, identity.KindProject, access.Scope{}))
}

func grantQueue(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	for _, name := range []string{"default", "with spaces, 'q' and ünï", "prj_looks_like_one"} {
		queue := access.Queue(name)
		g := e.grant(u, queue, access.Use)
		first, err := e.insertGrant(t, g)
		noError(t, err)
		same(t, "first", true, first)
		first, err = e.insertGrant(t, e.grant(u, queue, access.Read))
		noError(t, err)
		same(t, "first once more", false, first)
		same(t, "restricted", true, e.load(t).state.Objects[queue].Restricted)
		got, err := e.Grants.GrantByID(t.Context(), g.ID)
		noError(t, err)
		same(t, "by id", g, got)
		for _, g := range e.grants(t, identity.GrantFilter{Object: queue}) {
			e.dropGrant(t, g)
		}
	}
	same(t, "rights", state{}, e.load(t).state)
}

func grantFilters(t *testing.T, e *env) {
	a, b := identity.UserSubject(e.addAccount(t).ID), identity.TeamSubject(e.addTeam(t).ID)
	x, y := e.addObject(t, ids.Project, ""), access.Queue("x")
	late := e.grant(a, x, access.Manage)
	late.CreatedAt = at(time.Hour)
	_, err := e.insertGrant(t, late)
	noError(t, err)
	all := []identity.Grant{
		e.addGrant(t, a, y, access.Use), e.addGrant(t, b, x, access.Use), e.addGrant(t, a, x, access.Read),
		e.addGrant(t, b, y, access.Use), late,
	}
	for _, f := range []identity.GrantFilter{
		{}, {Subject: a}, {Subject: b}, {Object: x}, {Object: y}, {Subject: a, Object: x}, {Subject: b, Object: y},
		{Subject: "user:none"}, {Object: "prj_none"}, {Subject: a, Object: "prj_none"}, {Subject: "%"}, {Object: "queue:_"},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(g identity.Grant) bool {
			return f.Subject != "" && g.Subject != f.Subject || f.Object != "" && g.Object != f.Object
		})
		same(t, "grants of "+f.Subject+" on "+f.Object, want, e.grants(t, f))
	}
	list, n, err := e.Grants.ListGrants(t.Context(), identity.GrantFilter{Subject: a}, page.Window{Offset: 1, Limit: 1})
	noError(t, err)
	same(t, "the second of one subject", all[2:3], list)
	same(t, "their total", 3, n)
}

func grantHidden(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	org := e.addOrg(t)
	object, other := e.addObject(t, ids.Project, org.ID), e.addObject(t, ids.Project, "")
	g, kept := e.addGrant(t, u, object, access.Use), e.addGrant(t, u, other, access.Use)
	before := e.load(t)
	e.remove(t, object)
	e.remove(t, object)
	e.remove(t, "prj_none")

	_, err := e.Grants.GrantByID(t.Context(), g.ID)
	wantFault(t, err, identity.GrantNotFound)
	e.refused(t, identity.GrantNotFound, func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, g.ID) })
	_, err = e.insertGrant(t, e.grant(u, object, access.Use))
	wantFault(t, err, identity.ObjectNotFound)
	same(t, "grants", []identity.Grant{kept}, e.grants(t, identity.GrantFilter{}))
	same(t, "grants of the subject", []identity.Grant{kept}, e.grants(t, identity.GrantFilter{Subject: u}))
	same(t, "grants of the object", []identity.Grant{}, e.grants(t, identity.GrantFilter{Object: object}))
	same(t, "rights stay", before.state, e.load(t).state)
	e.follow(t, before)
	same(t, "rights stay for who follows", before.state, e.load(t).state)
}
