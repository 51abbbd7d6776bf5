package identitytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

func rightsCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"nothing is stored":                       rightsEmpty,
		"every change counts":                     rightsCount,
		"a version is read with its caller":       rightsVersion,
		"only what changed is told":               rightsExact,
		"a unit that fails changes nothing":       rightsRolledBack,
		"many changes of one unit":                rightsBulk,
		"what is forgotten":                       rightsForgotten,
		"forgetting beside changes":               rightsForgetRace,
		"a version tells of all changes up to it": rightsReadYourWrites,
		"nothing is missed":                       rightsFollowed,
		"commands and a mirror":                   rightsProperty,
	}
}

// version returns the version of rights that is read with a caller.
func (e *env) version(t tb, user string) int64 {
	t.Helper()
	b, err := e.Callers.Caller(t.Context(), user, "")
	if err != nil {
		t.Fatalf("read the caller: %v", err)
	}
	return b.Version
}

func rightsEmpty(t *testing.T, e *env) {
	m := e.load(t)
	same(t, "rights of a fresh store", state{}, m.state)
	u := e.addAccount(t)
	e.addTeam(t)
	same(t, "rights without members", state{}, e.load(t).state)
	e.follow(t, m)
	same(t, "what was followed", state{}, m.state)
	same(t, "version", e.version(t, u.ID), m.version)
	again := e.since(t, m.version)
	same(t, "what changed since the last version", identity.Rights{Version: m.version}, again)
}

func rightsCount(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	watcher := e.addAccount(t).ID
	team, dropped := e.addTeam(t), e.addTeam(t, v.ID)
	org, other := e.addOrg(t), e.addOrg(t, v.ID)
	object, forgetful := e.addObject(t, ids.Project, ""), e.addObject(t, ids.Project, other.ID)
	g, h := e.grant(identity.UserSubject(u.ID), object, access.Use),
		e.grant(identity.TeamSubject(team.ID), access.Queue("q"), access.Read)
	e.remove(t, forgetful)
	m := e.load(t)
	for _, c := range []struct {
		name string
		fn   func(ctx context.Context) error
	}{
		{"a grant", func(ctx context.Context) error { _, err := e.Grants.InsertGrant(ctx, g); return err }},
		{"a grant on a queue", func(ctx context.Context) error { _, err := e.Grants.InsertGrant(ctx, h); return err }},
		{"into a team", func(ctx context.Context) error {
			_, err := e.Teams.AddTeamMember(ctx, team.ID, u.ID, epoch)
			return err
		}},
		{"into an organization", func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgAdmin, epoch)
			return err
		}},
		{"a lesser role in it", func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgMember, epoch)
			return err
		}},
		{"an object to an organization", func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: object, Org: org.ID})
		}},
		{"an object to another", func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: object, Org: other.ID})
		}},
		{"an object to none", func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: object})
		}},
		{"a new object of one", func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: "prj_new", Org: org.ID})
		}},
		{"a grant back", func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, g.ID) }},
		{"out of a team", func(ctx context.Context) error { return e.Teams.RemoveTeamMember(ctx, team.ID, u.ID) }},
		{"a plain member out of an organization", func(ctx context.Context) error {
			return e.Orgs.RemoveOrgMember(ctx, org.ID, u.ID)
		}},
		{"a plain member into an organization", func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgMember, epoch)
			return err
		}},
		{"a greater role in it", func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgAdmin, epoch)
			return err
		}},
		{"an admin out of an organization", func(ctx context.Context) error {
			return e.Orgs.RemoveOrgMember(ctx, org.ID, u.ID)
		}},
		{"a team with a grant goes", func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, team.ID) }},
		{"a team with a member goes", func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, dropped.ID) }},
		{"an organization goes", func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, other.ID) }},
		{"into a team again", func(ctx context.Context) error {
			if err := e.Teams.InsertTeam(ctx, dropped); err != nil {
				return err
			}
			_, err := e.Teams.AddTeamMember(ctx, dropped.ID, v.ID, epoch)
			return err
		}},
		{"a member's account goes", func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, v.ID) }},
	} {
		before := e.version(t, watcher)
		e.must(t, c.fn)
		if after := e.version(t, watcher); after <= before {
			t.Errorf("%s: version %d after %d", c.name, after, before)
		}
		alone, err := e.Versions.RightsVersion(t.Context())
		noError(t, err)
		same(t, c.name+": the version alone", e.version(t, watcher), alone)
		e.follow(t, m)
		same(t, c.name+": version of who follows", e.version(t, watcher), m.version)
		same(t, c.name+": rights of who follows", e.load(t).state, m.state)
	}
}

func rightsVersion(t *testing.T, e *env) {
	u := e.addAccount(t)
	_, hash := e.addToken(t, u.ID)
	object := e.addObject(t, ids.Project, "")
	for _, l := range []access.Level{access.Read, access.Use, access.Manage} {
		before := e.version(t, u.ID)
		e.must(t, func(ctx context.Context) error {
			if _, err := e.Grants.InsertGrant(ctx, e.grant(identity.UserSubject(u.ID), object, l)); err != nil {
				return err
			}
			within, err := e.Callers.Caller(ctx, u.ID, "")
			if err == nil && within.Version <= before {
				t.Errorf("the version is not counted up in the unit of the change: %d after %d", within.Version, before)
			}
			return err
		})
		bearer, err := e.Callers.TokenByHash(t.Context(), hash)
		noError(t, err)
		after := e.version(t, u.ID)
		same(t, "version read with a token", after, bearer.Version)
		same(t, "version of all rights", after, e.load(t).version)
		same(t, "version of the changes", after, e.since(t, before).Version)
	}
}

func rightsExact(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	team, org := e.addTeam(t, v.ID), e.addOrg(t, v.ID)
	object, other := e.addObject(t, ids.Project, org.ID), e.addObject(t, ids.Project, org.ID)
	e.addGrant(t, identity.UserSubject(v.ID), other, access.Use)
	notified := func(what string, objects []identity.ObjectRights, users []identity.UserRights,
		fn func(ctx context.Context) error) {
		t.Helper()
		before := e.load(t).version
		e.must(t, fn)
		got := e.since(t, before)
		for i := range got.Users {
			slices.Sort(got.Users[i].Teams)
		}
		same(t, what+": objects", objects, got.Objects)
		same(t, what+": users", users, got.Users)
	}
	g := e.grant(identity.TeamSubject(team.ID), object, access.Use)
	granted := identity.ObjectRights{Object: object, Org: org.ID, Restricted: true,
		Grants: []identity.SubjectLevel{{Subject: g.Subject, Level: access.Use}}}
	notified("a grant", []identity.ObjectRights{granted}, nil, func(ctx context.Context) error {
		_, err := e.Grants.InsertGrant(ctx, g)
		return err
	})
	notified("a member", nil, []identity.UserRights{{UserID: u.ID, Teams: []string{team.ID}}},
		func(ctx context.Context) error {
			_, err := e.Teams.AddTeamMember(ctx, team.ID, u.ID, epoch)
			return err
		})
	notified("an organization's admin", nil,
		[]identity.UserRights{{UserID: u.ID, Teams: []string{team.ID}, Admin: []string{org.ID}}},
		func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgAdmin, epoch)
			return err
		})
	granted.Org = ""
	notified("an object that moves", []identity.ObjectRights{granted}, nil, func(ctx context.Context) error {
		return e.Objects.PutObject(ctx, identity.Object{ID: object})
	})
	notified("a grant back", []identity.ObjectRights{{Object: object}}, nil, func(ctx context.Context) error {
		return e.Grants.DeleteGrant(ctx, g.ID)
	})
	notified("an account that goes", nil, []identity.UserRights{{UserID: u.ID}}, func(ctx context.Context) error {
		return e.Accounts.DeleteAccount(ctx, u.ID)
	})
	notified("a team that goes", nil, []identity.UserRights{{UserID: v.ID, Admin: []string{org.ID}}},
		func(ctx context.Context) error {
			return e.Teams.DeleteTeam(ctx, team.ID)
		})
	notified("nothing", nil, nil, func(context.Context) error { return nil })
}

var errAbandoned = errors.New("given up")

func rightsRolledBack(t *testing.T, e *env) {
	u := e.addAccount(t)
	team, org := e.addTeam(t), e.addOrg(t)
	object := e.addObject(t, ids.Project, org.ID)
	e.addGrant(t, identity.UserSubject(u.ID), object, access.Read)
	g := e.grant(identity.UserSubject(u.ID), object, access.Use)
	before := e.load(t)
	err := e.do(t, func(ctx context.Context) error {
		_, first := e.Grants.InsertGrant(ctx, g)
		_, second := e.Teams.AddTeamMember(ctx, team.ID, u.ID, epoch)
		_, third := e.Orgs.PutOrgMember(ctx, org.ID, u.ID, identity.OrgAdmin, epoch)
		fourth := e.Objects.PutObject(ctx, identity.Object{ID: object})
		if err := errors.Join(first, second, third, fourth, e.Objects.RemoveObject(ctx, object)); err != nil {
			return err
		}
		return errAbandoned
	})
	if !errors.Is(err, errAbandoned) {
		t.Fatalf("the unit ends with %v", err)
	}
	same(t, "version", before.version, e.version(t, u.ID))
	same(t, "what changed", identity.Rights{Version: before.version}, e.since(t, before.version))
	same(t, "rights", before.state, e.load(t).state)
	same(t, "objects", []string{object}, e.readable(t, identity.KindProject, access.Everything()))
}

// rightsBulk: one unit may change many rights.
func rightsBulk(t *testing.T, e *env) {
	const n = 100
	u := identity.UserSubject(e.addAccount(t).ID)
	m := e.load(t)
	var objects []string
	for range n {
		objects = append(objects, e.id(ids.Inventory))
	}
	e.must(t, func(ctx context.Context) error {
		for _, id := range objects {
			if err := e.Objects.PutObject(ctx, identity.Object{ID: id}); err != nil {
				return err
			}
			if _, err := e.Grants.InsertGrant(ctx, e.grant(u, id, access.Read)); err != nil {
				return err
			}
		}
		return nil
	})
	e.follow(t, m)
	same(t, "objects with grants", n, len(m.state.Objects))
	same(t, "all rights", e.load(t).state, m.state)
	same(t, "readable", objects, e.readable(t, identity.KindInventory, access.Scope{Subjects: []string{u}, Strict: true}))
}

func (e *env) forget(t *testing.T, retain int) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Rights.ForgetChanges(ctx, retain) })
}

func rightsForgotten(t *testing.T, e *env) {
	u := e.addAccount(t)
	m := e.load(t)
	versions := []int64{m.version}
	grant := func() {
		e.addGrant(t, identity.UserSubject(u.ID), e.addObject(t, ids.Project, ""), access.Use)
		versions = append(versions, e.version(t, u.ID))
	}
	for range 8 {
		grant()
	}
	known := func(what string, changes int) {
		t.Helper()
		for i, v := range versions {
			r, ok, err := e.Rights.RightsSince(t.Context(), v)
			noError(t, err)
			missed := len(versions) - 1 - i
			if ok != (missed <= changes) || ok && len(r.Objects) != missed {
				t.Errorf("%s: of %d changes since then %d are told, %t", what, missed, len(r.Objects), ok)
			}
		}
	}
	known("at first", 8)
	e.forget(t, 100)
	known("with all kept", 8)
	e.forget(t, 3)
	known("with 3 kept", 3)
	grant()
	known("with one more", 4)
	e.forget(t, 0)
	known("with none kept", 0)
	e.forget(t, 0)
	known("with none kept again", 0)
	grant()
	known("and one more", 1)
	same(t, "rights are not forgotten", 10, len(e.load(t).state.Objects))
}

// rightsForgetRace: a reader that gets ok has missed no change.
func rightsForgetRace(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	objects := make([]string, 36)
	for i := range objects {
		objects[i] = e.addObject(t, ids.Project, "")
	}
	m := e.load(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i, object := range objects {
			g := e.grant(u, object, access.Use)
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				if _, err := e.Grants.InsertGrant(ctx, g); err != nil || i%3 > 0 {
					return err
				}
				return e.Rights.ForgetChanges(ctx, 1)
			})
			if err != nil {
				t.Errorf("grant: %v", err)
			}
		}
	})
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		r, ok, err := e.Rights.RightsSince(t.Context(), m.version)
		noError(t, err)
		if !ok {
			m = e.load(t)
			continue
		}
		m.apply(t, r)
	}
	same(t, "rights", e.load(t).state, m.state)
}
