package compose_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// chooser draws the decisions for random objects: a number below n.
type chooser func(n int, what string) int

// accessModel holds the accounts and rights of a store a second time, in plain maps. Its rules follow the text of the
// contract and share no code with the tested ones.
type accessModel struct {
	store  *sqlidentity.Store
	d      *db.DB
	choose chooser

	made    int
	roles   map[string]identity.Role               // accounts
	teams   map[string]map[string]bool             // accounts by team
	orgs    map[string]map[string]identity.OrgRole // accounts by organization
	objects map[string]*modelObject
	grants  map[string]identity.Grant

	pending []func(ctx context.Context) error // changes not yet sent to the store
}

type modelObject struct {
	org        string
	restricted bool
	gone       bool
}

func newAccessModel(d *db.DB, choose chooser) *accessModel {
	return &accessModel{
		store: sqlidentity.New(d), d: d, choose: choose, roles: map[string]identity.Role{},
		teams: map[string]map[string]bool{},
		orgs:  map[string]map[string]identity.OrgRole{}, objects: map[string]*modelObject{},
		grants: map[string]identity.Grant{},
	}
}

func objectKinds() map[string]string {
	return map[string]string{
		identity.KindProject: string(ids.Project), identity.KindTemplate: string(ids.Template),
		identity.KindInventory:  string(ids.Inventory),
		identity.KindCredential: string(ids.Credential), identity.KindQueue: access.Queue(""),
	}
}

func (w *accessModel) name(prefix string) string {
	w.made++
	return fmt.Sprintf("%s%026d", prefix, w.made*7919%100_003) // in no order
}

func (w *accessModel) tell(fn func(ctx context.Context) error) { w.pending = append(w.pending, fn) }

// flush sends all pending changes to the store, a hundred in each unit.
func (w *accessModel) flush(ctx context.Context, t testing.TB) {
	t.Helper()
	for batch := range slices.Chunk(w.pending, 100) {
		err := w.d.Do(ctx, func(ctx context.Context) error {
			for _, fn := range batch {
				if err := fn(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.pending = nil
}

// one selects one of the keys of a map; ok is false if there are none.
func one[V any](w *accessModel, m map[string]V, what string) (key string, ok bool) {
	if len(m) == 0 {
		return "", false
	}
	return slices.Sorted(maps.Keys(m))[w.choose(len(m), what)], true
}

func epoch() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func (w *accessModel) addAccount() {
	id := w.name(string(ids.User))
	roles := []identity.Role{identity.Viewer, identity.Viewer, identity.Operator, identity.Operator, identity.Admin}
	w.roles[id] = roles[w.choose(len(roles), "role")]
	u := identity.User{ID: id, Username: id, Role: w.roles[id], CreatedAt: epoch()}
	a := identity.Account{User: u, UpdatedAt: epoch(), Revision: 1}
	w.tell(func(ctx context.Context) error { return w.store.InsertAccount(ctx, a, "") })
}

func (w *accessModel) addTeam() {
	id := w.name(string(ids.Team))
	w.teams[id] = map[string]bool{}
	w.tell(func(ctx context.Context) error {
		return w.store.InsertTeam(ctx, identity.Team{ID: id, Name: id, CreatedAt: epoch(), CreatedBy: "x"})
	})
}

func (w *accessModel) addOrg() {
	id := w.name(string(ids.Org))
	w.orgs[id] = map[string]identity.OrgRole{}
	w.tell(func(ctx context.Context) error {
		return w.store.InsertOrg(ctx, identity.Org{ID: id, Name: id, CreatedAt: epoch(), CreatedBy: "x"})
	})
}

// putObject creates an object, or moves an existing or a deleted one to another organization.
func (w *accessModel) putObject(id string) {
	o := w.objects[id]
	if o == nil {
		o = &modelObject{}
		w.objects[id] = o
	}
	o.org, o.gone = "", false
	if identity.KindOf(id) != identity.KindQueue && w.choose(2, "of an organization") == 1 {
		o.org, _ = one(w, w.orgs, "organization")
	}
	put := identity.Object{ID: id, Org: o.org}
	w.tell(func(ctx context.Context) error { return w.store.PutObject(ctx, put) })
}

func (w *accessModel) addObject() {
	kind, _ := one(w, objectKinds(), "kind")
	w.putObject(w.name(objectKinds()[kind]))
}

// moveObject moves an existing object, and restoreObject restores a deleted one.
func (w *accessModel) moveObject() {
	if id, ok := one(w, w.objects, "object"); ok {
		w.putObject(id)
	}
}

func (w *accessModel) restoreObject() {
	gone := maps.Clone(w.objects)
	maps.DeleteFunc(gone, func(_ string, o *modelObject) bool { return !o.gone })
	if id, ok := one(w, gone, "object"); ok {
		w.putObject(id)
	}
}

func (w *accessModel) removeObject() {
	if id, ok := one(w, w.objects, "object"); ok {
		w.objects[id].gone = true
		w.tell(func(ctx context.Context) error { return w.store.RemoveObject(ctx, id) })
	}
}

func (w *accessModel) joinTeam() {
	team, ok := one(w, w.teams, "team")
	user, too := one(w, w.roles, "account")
	if !ok || !too {
		return
	}
	w.teams[team][user] = true
	w.tell(func(ctx context.Context) error {
		_, err := w.store.AddTeamMember(ctx, team, user, epoch())
		return err
	})
}

func (w *accessModel) leaveTeam() {
	team, ok := one(w, w.teams, "team")
	if !ok {
		return
	}
	if user, ok := one(w, w.teams[team], "member"); ok {
		delete(w.teams[team], user)
		w.tell(func(ctx context.Context) error { return w.store.RemoveTeamMember(ctx, team, user) })
	}
}

func (w *accessModel) joinOrg() {
	org, ok := one(w, w.orgs, "organization")
	user, too := one(w, w.roles, "account")
	if !ok || !too {
		return
	}
	role := []identity.OrgRole{identity.OrgAdmin, identity.OrgAdmin, identity.OrgMember}[w.choose(3, "role")]
	w.orgs[org][user] = role
	w.tell(func(ctx context.Context) error {
		_, err := w.store.PutOrgMember(ctx, org, user, role, epoch())
		return err
	})
}

func (w *accessModel) leaveOrg() {
	org, ok := one(w, w.orgs, "organization")
	if !ok {
		return
	}
	if user, ok := one(w, w.orgs[org], "member"); ok {
		delete(w.orgs[org], user)
		w.tell(func(ctx context.Context) error { return w.store.RemoveOrgMember(ctx, org, user) })
	}
}

// deleteOrg removes an organization without live members; deleted objects lose the reference to it.
func (w *accessModel) deleteOrg() {
	org, ok := one(w, w.orgs, "organization")
	if !ok {
		return
	}
	for _, o := range w.objects {
		if o.org == org && !o.gone {
			return
		}
	}
	for _, o := range w.objects {
		if o.org == org {
			o.org = ""
		}
	}
	delete(w.orgs, org)
	w.tell(func(ctx context.Context) error { return w.store.DeleteOrg(ctx, org) })
}

// grant gives an account or a team a level on a live object, or on a new queue.
func (w *accessModel) grant() {
	object, ok := one(w, w.objects, "object")
	if w.choose(20, "a queue that is new") == 19 {
		object, ok = w.name(access.Queue("")), true
	}
	user, okUser := one(w, w.roles, "account")
	team, okTeam := one(w, w.teams, "team")
	subject := identity.UserSubject(user)
	if okTeam && w.choose(2, "to a team") == 1 {
		subject, okUser = identity.TeamSubject(team), true
	}
	level := []access.Level{access.Read, access.Use, access.Manage}[w.choose(3, "level")]
	if o := w.objects[object]; !ok || !okUser || o != nil && o.gone {
		return
	}
	for _, g := range w.grants {
		if g.Subject == subject && g.Object == object && g.Level == level {
			return
		}
	}
	if w.objects[object] == nil {
		w.objects[object] = &modelObject{}
	}
	w.objects[object].restricted = true
	g := identity.Grant{Subject: subject, Object: object, Level: level, CreatedAt: epoch(), CreatedBy: "x"}
	g.ID = w.name(string(ids.Grant))
	w.grants[g.ID] = g
	w.tell(func(ctx context.Context) error {
		_, err := w.store.InsertGrant(ctx, g)
		return err
	})
}

// deleteGrant deletes a grant. Without any grant an object is no longer restricted.
func (w *accessModel) deleteGrant() {
	id, ok := one(w, w.grants, "grant")
	if !ok || w.objects[w.grants[id].Object].gone {
		return
	}
	object := w.grants[id].Object
	delete(w.grants, id)
	w.objects[object].restricted = false
	for _, g := range w.grants {
		if g.Object == object {
			w.objects[object].restricted = true
		}
	}
	w.tell(func(ctx context.Context) error { return w.store.DeleteGrant(ctx, id) })
}

// deleteAccount also deletes memberships and grants. Restricted objects stay restricted.
func (w *accessModel) deleteAccount() {
	id, ok := one(w, w.roles, "account")
	if !ok {
		return
	}
	delete(w.roles, id)
	for _, members := range w.teams {
		delete(members, id)
	}
	for _, members := range w.orgs {
		delete(members, id)
	}
	maps.DeleteFunc(w.grants, func(_ string, g identity.Grant) bool { return g.Subject == identity.UserSubject(id) })
	w.tell(func(ctx context.Context) error { return w.store.DeleteAccount(ctx, id) })
}

func (w *accessModel) deleteTeam() {
	id, ok := one(w, w.teams, "team")
	if !ok {
		return
	}
	delete(w.teams, id)
	maps.DeleteFunc(w.grants, func(_ string, g identity.Grant) bool { return g.Subject == identity.TeamSubject(id) })
	w.tell(func(ctx context.Context) error { return w.store.DeleteTeam(ctx, id) })
}

// change makes one change of any sort.
func (w *accessModel) change() {
	sorts := []func(){
		w.grant, w.grant, w.grant, w.grant, w.grant, w.deleteGrant, w.deleteGrant, w.addObject, w.addObject, w.joinTeam,
		w.joinTeam,
		w.joinOrg, w.removeObject, w.removeObject, w.restoreObject, w.moveObject, w.leaveTeam, w.leaveOrg, w.deleteAccount,
		w.deleteTeam, w.deleteOrg, w.addAccount, w.addAccount, w.addTeam, w.addOrg,
		func() {
			retain := w.choose(5, "changes that are remembered")
			w.tell(func(ctx context.Context) error { return w.store.ForgetChanges(ctx, retain) })
		},
	}
	sorts[w.choose(len(sorts), "change")]()
}

// byObject sorts the grants.
func (w *accessModel) byObject() map[string][]identity.Grant {
	out := make(map[string][]identity.Grant)
	for _, g := range w.grants {
		out[g.Object] = append(out[g.Object], g)
	}
	return out
}

// level returns the level of an account on an object with some grants, by the rules of the contract.
func (w *accessModel) level(user, object string, strict bool, grants []identity.Grant) access.Level {
	const none, read, use, manage = 0, 1, 2, 3
	role, o, best := w.roles[user], w.objects[object], none
	if role == identity.Admin {
		return access.Manage
	}
	if !o.restricted && !strict {
		best = read
		if role == identity.Operator {
			best = use
		}
	}
	for _, g := range grants {
		_, team, _ := identity.SubjectID(g.Subject)
		if g.Subject == identity.UserSubject(user) || w.teams[team][user] {
			best = max(best, map[access.Level]int{access.Read: read, access.Use: use, access.Manage: manage}[g.Level])
		}
	}
	if w.orgs[o.org][user] == identity.OrgAdmin {
		best = manage
	}
	if role == identity.Viewer {
		best = min(best, use)
	}
	return []access.Level{access.None, access.Read, access.Use, access.Manage}[best]
}
