package identitytest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func objectCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"objects of a kind":                objectKinds,
		"an object needs its organization": objectOrg,
		"an object is put again":           objectAgain,
		"a queue has no organization":      objectQueue,
		"what a scope shows":               objectScopes,
		"what the member of a team sees":   objectTeam,
		"many subjects":                    objectManySubjects,
		"an object that is gone":           objectGone,
		"one new object at once":           objectRace,
		"scopes and a model":               readableProperty,
	}
}

// readable lists the objects that a scope may read.
func (e *env) readable(t tb, kind string, s access.Scope) []string {
	t.Helper()
	list, n, err := e.Objects.Readable(t.Context(), kind, s, page.Window{})
	if err != nil {
		t.Fatalf("readable: %v", err)
	}
	same(t, "total", len(list), n)
	return list
}

func objectKinds(t *testing.T, e *env) {
	prefixes := map[string]ids.Prefix{
		identity.KindProject: ids.Project, identity.KindTemplate: ids.Template,
		identity.KindInventory: ids.Inventory, identity.KindCredential: ids.Credential,
	}
	want := map[string][]string{}
	for range 2 {
		for kind, prefix := range prefixes {
			want[kind] = append(want[kind], e.addObject(t, prefix, ""))
		}
	}
	e.addGrant(t, identity.UserSubject(e.addAccount(t).ID), access.Queue("q"), access.Use)
	for kind := range prefixes {
		same(t, kind, want[kind], e.readable(t, kind, access.Scope{}))
		same(t, kind+" for everybody", want[kind], e.readable(t, kind, access.Everything()))
		same(t, kind+" without a right", []string{}, e.readable(t, kind, access.Scope{Strict: true}))
	}
	same(t, "another kind", []string{}, e.readable(t, "policy", access.Everything()))
	same(t, "a restricted queue", []string{}, e.readable(t, identity.KindQueue, access.Scope{}))
	same(t, "a restricted queue for everybody", []string{access.Queue("q")},
		e.readable(t, identity.KindQueue, access.Everything()))
}

func objectOrg(t *testing.T, e *env) {
	id := e.id(ids.Project)
	put := func(ctx context.Context) error {
		return e.Objects.PutObject(ctx, identity.Object{ID: id, Org: "org_none"})
	}
	e.refused(t, identity.OrgNotFound, put)
	same(t, "objects", []string{}, e.readable(t, identity.KindProject, access.Everything()))
	org := e.addOrg(t)
	e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: id, Org: org.ID}) })
	e.refused(t, identity.OrgNotFound, put)
	same(t, "its organization", org.ID, e.load(t).state.Objects[id].Org)
}

// objectQueue: a queue can be registered, but not in an organization.
func objectQueue(t *testing.T, e *env) {
	org, queue := e.addOrg(t), access.Queue("q")
	for range 2 {
		err := e.do(t, func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: queue, Org: org.ID})
		})
		if !fault.Is(err, fault.Internal) {
			t.Errorf("a queue in an organization: %v", err)
		}
		same(t, "rights", state{}, e.load(t).state)
		e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: queue}) })
	}
	same(t, "queues", []string{queue}, e.readable(t, identity.KindQueue, access.Everything()))
	e.must(t, func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, org.ID) })
}

func objectAgain(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	org := e.addOrg(t)
	object := e.addObject(t, ids.Project, "")
	g := e.addGrant(t, u, object, access.Use)
	for _, to := range []string{org.ID, org.ID, "", ""} {
		e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: object, Org: to}) })
		same(t, "rights", identity.ObjectRights{Object: object, Org: to, Restricted: true,
			Grants: []identity.SubjectLevel{{Subject: u, Level: access.Use}}}, e.load(t).state.Objects[object])
		same(t, "grants", []identity.Grant{g}, e.grants(t, identity.GrantFilter{}))
		same(t, "it is one object", []string{object}, e.readable(t, identity.KindProject, access.Everything()))
	}
}

func objectScopes(t *testing.T, e *env) {
	u, v := identity.UserSubject(e.addAccount(t).ID), identity.UserSubject(e.addAccount(t).ID)
	mine, theirs := e.addOrg(t).ID, e.addOrg(t).ID
	open, openMine := e.addObject(t, ids.Template, ""), e.addObject(t, ids.Template, mine)
	granted, other := e.addObject(t, ids.Template, ""), e.addObject(t, ids.Template, "")
	closedMine, closedTheirs := e.addObject(t, ids.Template, mine), e.addObject(t, ids.Template, theirs)
	e.addGrant(t, u, granted, access.Read)
	for _, object := range []string{other, closedMine, closedTheirs} {
		e.addGrant(t, v, object, access.Manage)
	}
	six := []string{open, openMine, granted, other, closedMine, closedTheirs}
	for _, c := range objecttest.Scopes(u, v, mine, theirs, six) {
		same(t, c.Name, c.Want, e.readable(t, identity.KindTemplate, c.Scope))
	}
}

func objectTeam(t *testing.T, e *env) {
	team := identity.TeamSubject(e.addTeam(t).ID)
	object := e.addObject(t, ids.Credential, "")
	g := e.addGrant(t, team, object, access.Use)
	sees := func() []string {
		return e.readable(t, identity.KindCredential, access.Scope{Subjects: []string{"user:x", team}})
	}
	same(t, "granted", []string{object}, sees())
	e.must(t, func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, team[len("team:"):]) })
	same(t, "after the team", []string{}, sees())
	same(t, "for everybody after the team", []string{}, e.readable(t, identity.KindCredential, access.Scope{}))
	_, err := e.Grants.GrantByID(t.Context(), g.ID)
	wantFault(t, err, identity.GrantNotFound)
}

// objectManySubjects: an account may be in very many teams and organizations.
func objectManySubjects(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	s := access.Scope{Strict: true}
	for n := range 1500 {
		s.Subjects, s.Orgs = append(s.Subjects, fmt.Sprint("team:team_", n)), append(s.Orgs, fmt.Sprint("org_", n))
	}
	org := e.addOrg(t).ID
	s.Subjects, s.Orgs = append(s.Subjects, u), append(s.Orgs, org)
	granted, owned := e.addObject(t, ids.Project, ""), e.addObject(t, ids.Project, org)
	e.addObject(t, ids.Project, "")
	e.addGrant(t, u, granted, access.Read)
	same(t, "readable", []string{granted, owned}, e.readable(t, identity.KindProject, s))
}

func objectGone(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	org := e.addOrg(t).ID
	var objects []string
	for n := range 4 {
		objects = append(objects, e.addObject(t, ids.Project, []string{"", org}[n%2]))
		e.addGrant(t, u, objects[n], access.Manage)
	}
	scopes := []access.Scope{access.Everything(), {Subjects: []string{u}},
		{Subjects: []string{u}, Orgs: []string{org}, Strict: true}}
	for _, gone := range slices.Clone(objects) {
		e.remove(t, gone)
		objects = objects[1:]
		for _, s := range scopes {
			same(t, "readable", objects, e.readable(t, identity.KindProject, s))
		}
	}
}

func objectRace(t *testing.T, e *env) {
	for range 5 {
		org, object := e.addOrg(t).ID, e.id(ids.Project)
		txtest.Together(8, func(i int) {
			o := identity.Object{ID: object, Org: []string{org, ""}[i%2]}
			if err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				return e.Objects.PutObject(ctx, o)
			}); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		e.remove(t, object)
	}
	same(t, "objects", []string{}, e.readable(t, identity.KindProject, access.Everything()))
}
