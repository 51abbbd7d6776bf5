package identitytest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func orgCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an organization":                          org,
		"members and their roles":                  orgMembers,
		"what is not there":                        orgMissing,
		"the organizations of one":                 orgsOf,
		"a deleted organization":                   orgDeleted,
		"an organization in use":                   orgInUse,
		"objects that are gone let go of it":       orgForgotten,
		"an object comes as its organization goes": orgRace,
	}
}

func (e *env) putMember(t tb, org, user string, r identity.OrgRole, when time.Time) identity.Member {
	t.Helper()
	var m identity.Member
	e.must(t, func(ctx context.Context) error {
		var err error
		m, err = e.Orgs.PutOrgMember(ctx, org, user, r, when)
		return err
	})
	return m
}

func (e *env) orgMembers(t *testing.T, org string) []identity.Member {
	t.Helper()
	list, n, err := e.Orgs.OrgMembers(t.Context(), org, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

func org(t *testing.T, e *env) {
	list, n, err := e.Orgs.ListOrgs(t.Context(), page.Window{})
	noError(t, err)
	if len(list) != 0 || n != 0 {
		t.Errorf("a fresh store has %v of %d organizations", list, n)
	}
	want := []identity.Org{
		{ID: e.id(ids.Org), Name: odd, CreatedAt: at(time.Microsecond).In(elsewhere), CreatedBy: odd},
		{ID: e.id(ids.Org), Name: "a", CreatedAt: at(0)},
		{ID: e.id(ids.Org), Name: "B", CreatedAt: at(time.Hour), CreatedBy: "usr_who"},
	}
	for _, org := range want {
		e.must(t, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, org) })
		got, err := e.Orgs.OrgByID(t.Context(), org.ID)
		noError(t, err)
		same(t, "by id", org, got)
	}
	list, n, err = e.Orgs.ListOrgs(t.Context(), page.Window{})
	noError(t, err)
	same(t, "by name", []identity.Org{want[2], want[1], want[0]}, list)
	same(t, "total", 3, n)

	again := identity.Org{ID: e.id(ids.Org), Name: odd, CreatedAt: epoch}
	e.refused(t, identity.NameTaken, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, again) })
	err = e.do(t, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, want[1]) })
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the same organization again: %v", err)
	}
}

func orgMembers(t *testing.T, e *env) {
	b, a := e.addAccount(t, named("b "+odd)), e.addAccount(t, named("a"))
	org, other := e.addOrg(t), e.addOrg(t, a.ID)
	same(t, "members of a new organization", []identity.Member{}, e.orgMembers(t, org.ID))
	first := identity.Member{UserID: a.ID, Username: a.Username, Role: identity.OrgMember, AddedAt: at(time.Microsecond)}
	second := identity.Member{UserID: b.ID, Username: b.Username, Role: identity.OrgAdmin, AddedAt: epoch}
	same(t, "an admin", second, e.putMember(t, org.ID, b.ID, identity.OrgAdmin, epoch.In(elsewhere)))
	same(t, "a member", first, e.putMember(t, org.ID, a.ID, identity.OrgMember, first.AddedAt))
	same(t, "members", []identity.Member{first, second}, e.orgMembers(t, org.ID))

	first.Role, second.Role = identity.OrgAdmin, identity.OrgMember
	same(t, "another role", first, e.putMember(t, org.ID, a.ID, identity.OrgAdmin, at(time.Hour)))
	same(t, "another role", second, e.putMember(t, org.ID, b.ID, identity.OrgMember, at(time.Hour)))
	same(t, "the same role", second, e.putMember(t, org.ID, b.ID, identity.OrgMember, at(time.Hour)))
	same(t, "members with other roles", []identity.Member{first, second}, e.orgMembers(t, org.ID))
	same(t, "rights", []string{org.ID, other.ID}, e.load(t).state.Users[a.ID].Admin)

	remove := func(ctx context.Context) error { return e.Orgs.RemoveOrgMember(ctx, org.ID, a.ID) }
	e.must(t, remove)
	e.refused(t, identity.MemberNotFound, remove)
	same(t, "members after one left", []identity.Member{second}, e.orgMembers(t, org.ID))
	same(t, "members of the other", 1, len(e.orgMembers(t, other.ID)))
	same(t, "rights", []string{other.ID}, e.load(t).state.Users[a.ID].Admin)
}

func orgMissing(t *testing.T, e *env) {
	u, org := e.addAccount(t), e.addOrg(t)
	ctx := t.Context()
	_, err := e.Orgs.OrgByID(ctx, "org_none")
	wantFault(t, err, identity.OrgNotFound)
	_, _, err = e.Orgs.OrgMembers(ctx, "org_none", page.Window{})
	wantFault(t, err, identity.OrgNotFound)
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, "org_none") })
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error {
		_, err := e.Orgs.PutOrgMember(ctx, "org_none", u.ID, identity.OrgAdmin, epoch)
		return err
	})
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error {
		_, err := e.Orgs.PutOrgMember(ctx, org.ID, "usr_none", identity.OrgAdmin, epoch)
		return err
	})
	for _, pair := range [][2]string{{org.ID, u.ID}, {org.ID, "usr_none"}, {"org_none", u.ID}} {
		e.refused(t, identity.MemberNotFound, func(ctx context.Context) error {
			return e.Orgs.RemoveOrgMember(ctx, pair[0], pair[1])
		})
	}
	orgs, err := e.Orgs.OrgsOf(ctx, "usr_none")
	noError(t, err)
	same(t, "organizations of nobody", []identity.Membership{}, orgs)
}

func orgsOf(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	var want []identity.Membership
	for n := range 4 {
		m := identity.Membership{
			Org:  identity.Org{ID: e.id(ids.Org), Name: fmt.Sprint("org ", 4-n), CreatedAt: epoch, CreatedBy: odd},
			Role: []identity.OrgRole{identity.OrgMember, identity.OrgAdmin}[n%2],
		}
		want = append([]identity.Membership{m}, want...)
		e.must(t, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, m.Org) })
		e.putMember(t, m.ID, u.ID, m.Role, epoch)
	}
	e.addOrg(t, v.ID)
	got, err := e.Orgs.OrgsOf(t.Context(), u.ID)
	noError(t, err)
	same(t, "organizations by name", want, got)
}

func orgDeleted(t *testing.T, e *env) {
	u := e.addAccount(t)
	org, other := e.addOrg(t, u.ID), e.addOrg(t, u.ID)
	remove := func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, org.ID) }
	e.must(t, remove)
	e.refused(t, identity.OrgNotFound, remove)
	_, err := e.Orgs.OrgByID(t.Context(), org.ID)
	wantFault(t, err, identity.OrgNotFound)
	orgs, err := e.Orgs.OrgsOf(t.Context(), u.ID)
	noError(t, err)
	same(t, "organizations", []identity.Membership{{Org: other, Role: identity.OrgAdmin}}, orgs)
	same(t, "rights", state{
		Users: map[string]identity.UserRights{u.ID: {UserID: u.ID, Admin: []string{other.ID}}},
	}, e.load(t).state)
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error {
		return e.Objects.PutObject(ctx, identity.Object{ID: e.id(ids.Project), Org: org.ID})
	})
	next := org
	next.ID = e.id(ids.Org)
	e.must(t, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, next) }) // the name is free again
	same(t, "members of the next one", []identity.Member{}, e.orgMembers(t, next.ID))
}

// inUse expects a deletion to be refused with the number of objects.
func (e *env) inUse(t *testing.T, org string, objects int) {
	t.Helper()
	err := e.do(t, func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, org) })
	wantFault(t, err, identity.OrgInUse)
	var f *fault.Error
	if errors.As(err, &f); fmt.Sprint(f.Detail["objects"]) != fmt.Sprint(objects) {
		t.Errorf("the fault tells %v, want %d objects", f.Detail, objects)
	}
}

func orgInUse(t *testing.T, e *env) {
	u := e.addAccount(t)
	org, other := e.addOrg(t, u.ID), e.addOrg(t)
	first, second := e.addObject(t, ids.Project, org.ID), e.addObject(t, ids.Inventory, org.ID)
	third := e.addObject(t, ids.Template, org.ID)
	e.addObject(t, ids.Template, other.ID)
	e.addObject(t, ids.Template, "")
	e.inUse(t, org.ID, 3)
	e.remove(t, first)
	e.inUse(t, org.ID, 2)
	e.must(t, func(ctx context.Context) error {
		return e.Objects.PutObject(ctx, identity.Object{ID: second, Org: other.ID})
	})
	e.inUse(t, org.ID, 1)
	same(t, "members of what was not deleted", 1, len(e.orgMembers(t, org.ID)))
	e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: third}) })
	e.must(t, func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, org.ID) })
	e.inUse(t, other.ID, 2)
}

// orgForgotten: a removed object keeps its grants and its restriction after its organization is deleted.
func orgForgotten(t *testing.T, e *env) {
	u, org := e.addAccount(t), e.addOrg(t)
	restricted, open := e.addObject(t, ids.Project, org.ID), e.addObject(t, ids.Project, org.ID)
	g := e.addGrant(t, identity.UserSubject(u.ID), restricted, access.Read)
	e.remove(t, restricted)
	e.remove(t, open)
	want := identity.ObjectRights{Object: restricted, Org: org.ID, Restricted: true,
		Grants: []identity.SubjectLevel{{Subject: g.Subject, Level: g.Level}}}
	m := e.load(t)
	same(t, "rights before", want, m.state.Objects[restricted])
	e.must(t, func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, org.ID) })
	want.Org = ""
	e.follow(t, m)
	same(t, "rights after", state{Objects: map[string]identity.ObjectRights{restricted: want}}, m.state)
	same(t, "all rights", m.state, e.load(t).state)
}

// orgRace: of a concurrent move into an organization and its deletion exactly one succeeds.
func orgRace(t *testing.T, e *env) {
	for range 15 {
		org, object := e.addOrg(t), e.id(ids.Project)
		errs := make([]error, 2)
		txtest.Together(2, func(i int) {
			errs[i] = e.Unit.Do(t.Context(), func(ctx context.Context) error {
				if i == 0 {
					return e.Objects.PutObject(ctx, identity.Object{ID: object, Org: org.ID})
				}
				return e.Orgs.DeleteOrg(ctx, org.ID)
			})
		})
		put, deleted := errs[0], errs[1]
		switch {
		case put == nil && identity.OrgInUse.Is(deleted):
			same(t, "the object", org.ID, e.load(t).state.Objects[object].Org)
		case deleted == nil && identity.OrgNotFound.Is(put):
			same(t, "no object", "", e.load(t).state.Objects[object].Org)
		default:
			t.Fatalf("put: %v, delete: %v", put, deleted)
		}
	}
}
