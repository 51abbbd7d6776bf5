package identitytest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// OpenAuthorizer creates an authorizer over stored rights. A strict one treats objects without grants as restricted.
type OpenAuthorizer func(t *testing.T, rights identity.RightsStore, strict bool) identity.Authorizer

// RunAuthorizer tests that the decisions of an implementation follow identity.Matrix.
func RunAuthorizer(t *testing.T, open OpenAuthorizer) {
	t.Helper()
	for name, fn := range map[string]func(*testing.T, OpenAuthorizer){
		"the matrix by role":         matrixByRole,
		"every rule of the matrix":   everyRule,
		"open mode may everything":   openMode,
		"refusals name no object":    quietRefusals,
		"what lists are narrowed to": scopes,
		"operations by scope":        scopedOperations,
		"objects by scope":           scopedObjects,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, open)
		})
	}
}

// fixedRights are rights that never change.
type fixedRights struct{ identity.Rights }

func rightsOf(objects []identity.ObjectRights, users ...identity.UserRights) fixedRights {
	return fixedRights{identity.Rights{Version: 1, Objects: objects, Users: users}}
}

func (r fixedRights) LoadRights(context.Context) (identity.Rights, error) { return r.Rights, nil }

func (r fixedRights) RightsSince(_ context.Context, version int64) (identity.Rights, bool, error) {
	return identity.Rights{Version: r.Version}, version == r.Version, nil
}

func (fixedRights) ForgetChanges(context.Context, int) error { return nil }

func principal(id string, r identity.Role) identity.Principal {
	return identity.Principal{User: identity.User{ID: id, Username: "x", Role: r}, Version: 1}
}

func everyRole() []identity.Role {
	return []identity.Role{"", "root", "Admin", "*", identity.Viewer, identity.Operator, identity.Admin}
}

// decides checks the decision on a need and the fault of a refusal.
func decides(t *testing.T, a identity.Authorizer, p identity.Principal, n identity.Need, want bool) {
	t.Helper()
	err := a.Authorize(t.Context(), p, n)
	if want != (err == nil) || err != nil && !identity.NotAllowed.Is(err) {
		t.Errorf("%s as %q, %+v: %v, want allowed: %v", p.User.ID, p.User.Role, n, err, want)
	}
}

// matrixByRole checks every need on a kind for every role. A need without a rule requires an admin.
func matrixByRole(t *testing.T, open OpenAuthorizer) {
	a := open(t, rightsOf(nil), false)
	least := map[identity.Need]identity.Role{}
	kinds, acts := map[string]bool{"": true, "user": true, "policy": true, "unheard of": true},
		map[string]bool{"": true, "delete": true, "unheard of": true}
	for _, r := range identity.Matrix() {
		kinds[r.Kind], acts[r.Act] = true, true
		n := identity.Need{Kind: r.Kind, Act: r.Act}
		if old, known := least[n]; r.Via == identity.ViaRole && (!known || r.Role.Rank() < old.Rank()) {
			least[n] = r.Role
		}
	}
	for kind := range kinds {
		for act := range acts {
			n := identity.Need{Kind: kind, Act: act}
			role, known := least[n]
			if !known {
				role = identity.Admin
			}
			for _, r := range everyRole() {
				decides(t, a, principal("usr_1", r), n, r.Rank() >= role.Rank())
			}
		}
	}
}

// everyRule removes every way to a right except one, and checks that each row of the matrix needs exactly that way.
func everyRule(t *testing.T, open OpenAuthorizer) {
	const me, org = "usr_1", "org_1"
	objects := map[string]string{
		identity.KindProject: "prj_1", identity.KindTemplate: "tpl_1", identity.KindInventory: "inv_1",
		identity.KindCredential: "crd_1", identity.KindQueue: "queue:q",
	}
	for _, r := range identity.Matrix() {
		if r.Via == identity.ViaRole {
			continue
		}
		o := identity.ObjectRights{Object: objects[r.Kind], Restricted: r.Via != identity.ViaOpen}
		n := identity.Need{Kind: r.Kind, Act: r.Act, Object: objects[r.Kind]}
		var users []identity.UserRights
		if r.Via == identity.ViaGrant {
			o.Grants = []identity.SubjectLevel{{Subject: identity.UserSubject(me), Level: access.Level(r.Act)}}
		}
		if r.Via == identity.ViaOrg {
			o.Org, users = org, []identity.UserRights{{UserID: me, Admin: []string{org}}}
		}
		if r.Act == "create" {
			n.Object, n.Org = "", org
		}
		a := open(t, rightsOf([]identity.ObjectRights{o}, users...), false)
		for _, role := range everyRole() {
			decides(t, a, principal(me, role), n, role.Rank() >= r.Role.Rank())
			if r.Via != identity.ViaOpen {
				decides(t, a, principal("usr_2", role), n, role == identity.Admin)
			}
		}
	}
}

func withScopes(r identity.Role, s ...identity.Scope) identity.Principal {
	p := principal("usr_1", r)
	p.Scopes = s
	return p
}

// scopedOperations: a scope allows its operations, and only within the role. What is not listed takes the scope admin.
func scopedOperations(t *testing.T, open OpenAuthorizer) {
	a := open(t, rightsOf(nil), false)
	by := map[string]string{
		"account:read": "read launch operate admin", "account:logout": "read launch operate admin",
		"token:mint": "read launch operate admin", "catalog:launch": "launch operate admin",
		"audit:verify": "read admin", "audit:register": "read admin",
		"catalog:write": "operate admin", "run:submit": "operate admin", "run:control": "operate admin",
		"pipeline:submit": "operate admin", "run:approve": "admin", "drift:reconcile": "operate admin",
		"drift:write": "operate admin", "ai:draft": "operate admin", "ai:propose": "operate admin",
	}
	needs := []identity.Need{{Kind: "user", Act: "read"}, {Kind: "user", Act: "write"}, {Kind: "token", Act: "revoke"},
		{Kind: "run", Act: "approve"}, {Kind: "audit", Act: "read"}, {Kind: "audit", Act: "register"},
		{Kind: "doctor", Act: "read"}, {Kind: "policy", Act: "unheard of"}, {}}
	for _, r := range identity.Matrix() {
		if r.Via == identity.ViaRole {
			needs = append(needs, identity.Need{Kind: r.Kind, Act: r.Act})
		}
	}
	for _, n := range needs {
		allowed, listed := by[n.Kind+":"+n.Act]
		if !listed {
			allowed = map[bool]string{true: "read admin", false: "admin"}[n.Act == "read"]
		}
		for _, role := range everyRole() {
			may := a.Authorize(t.Context(), principal("usr_1", role), n) == nil
			for _, s := range append(identity.AllScopes(), "unheard of") {
				covered := slices.Contains(strings.Fields(allowed), string(s))
				decides(t, a, withScopes(role, s), n, may && covered)
				decides(t, a, withScopes(role, s, identity.ScopeAdmin), n, may)
			}
		}
	}
}

// scopedObjects: without the scope admin, an admin reads every object and does the rest as an operator.
func scopedObjects(t *testing.T, open OpenAuthorizer) {
	const shut, mine, free, org = "prj_1", "prj_2", "prj_3", "org_1"
	grants := []identity.SubjectLevel{{Subject: identity.UserSubject("usr_1"), Level: access.Manage}}
	a := open(t, rightsOf([]identity.ObjectRights{{Object: shut, Restricted: true},
		{Object: mine, Restricted: true, Grants: grants}}, identity.UserRights{UserID: "usr_1", Admin: []string{org}}), false)
	for _, s := range identity.AllScopes() {
		whole := s == identity.ScopeAdmin
		p := withScopes(identity.Admin, s)
		for _, c := range []struct {
			object, act string
			want        bool
		}{
			{shut, "read", true}, {shut, "use", whole}, {shut, "manage", whole}, {mine, "manage", true},
			{free, "use", true}, {free, "manage", whole}, {"zzz_1", "manage", whole},
		} {
			kind := identity.KindOf(c.object)
			decides(t, a, p, identity.Need{Kind: kind, Act: c.act, Object: c.object}, c.want)
		}
		decides(t, a, p, identity.Need{Kind: "project", Act: "create"}, whole)
		decides(t, a, p, identity.Need{Kind: "project", Act: "create", Org: "org_2"}, whole)
		decides(t, a, p, identity.Need{Kind: "project", Act: "create", Org: org}, true)
		if got, err := a.Scope(t.Context(), p); err != nil || !got.All {
			t.Errorf("lists with %s: %+v, %v", s, got, err)
		}
		decides(t, a, withScopes(identity.Viewer, s), identity.Need{Kind: "project", Act: "use", Object: free}, false)
	}
}

func openMode(t *testing.T, open OpenAuthorizer) {
	a := open(t, rightsOf([]identity.ObjectRights{{Object: "prj_1", Restricted: true}}), true)
	p := identity.Principal{Open: true, Version: 1}
	for _, n := range []identity.Need{
		{Kind: "project", Act: "manage", Object: "prj_1"}, {Kind: "user", Act: "delete"},
		{Kind: "run", Act: "read", Object: "run_1"},
	} {
		decides(t, a, p, n, true)
	}
	if s, err := a.Scope(t.Context(), p); err != nil || !s.All {
		t.Errorf("%+v, %v", s, err)
	}
}

func quietRefusals(t *testing.T, open OpenAuthorizer) {
	a := open(t, rightsOf([]identity.ObjectRights{{Object: "inv_secret", Org: "org_secret", Restricted: true}}), false)
	for _, n := range []identity.Need{
		{Kind: "inventory", Act: "use", Object: "inv_secret"}, {Kind: "template", Act: "create", Org: "org_secret"},
	} {
		err := a.Authorize(t.Context(), principal("usr_1", identity.Operator), n)
		if !identity.NotAllowed.Is(err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func scopes(t *testing.T, open OpenAuthorizer) {
	rights := rightsOf([]identity.ObjectRights{{Object: "prj_1", Restricted: true}}, identity.UserRights{
		UserID: "usr_1", Teams: []string{"team_a"}, Admin: []string{"org_1"},
	})
	subjects := []string{"team:team_a", "user:usr_1"}
	for strict, want := range map[bool]access.Scope{
		false: {Subjects: subjects, Orgs: []string{"org_1"}},
		true:  {Subjects: subjects, Orgs: []string{"org_1"}, Strict: true},
	} {
		a := open(t, rights, strict)
		got, err := a.Scope(t.Context(), principal("usr_1", identity.Viewer))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		if got, err := a.Scope(t.Context(), principal("usr_1", identity.Admin)); err != nil || !got.All {
			t.Errorf("an admin's is %+v, %v", got, err)
		}
	}
}
