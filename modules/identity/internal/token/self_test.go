package token

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

func as(r identity.Role, scopes ...identity.Scope) identity.Principal {
	return identity.Principal{User: identity.User{Role: r}, Scopes: scopes}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	for _, role := range []identity.Role{identity.Viewer, identity.Operator} {
		var want []identity.Need
		for _, r := range identity.Matrix() {
			if r.Via == identity.ViaRole && r.Role != identity.Admin &&
				(r.Role == identity.Viewer || role == identity.Operator) {
				want = append(want, identity.Need{Kind: r.Kind, Act: r.Act})
			}
		}
		if diff := cmp.Diff(want, permissions(as(role))); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
	}
	submit := identity.Need{Kind: "run", Act: "submit"}
	if slices.Contains(permissions(as(identity.Viewer)), submit) ||
		!slices.Contains(permissions(as(identity.Operator)), submit) {
		t.Error("who submits runs is no operator")
	}
	if list := permissions(as("root")); len(list) != 0 {
		t.Errorf("no role: %v", list)
	}
	seen := make(map[identity.Need]int)
	admin := permissions(as(identity.Admin))
	for _, n := range admin {
		seen[n]++
	}
	if admin[0] != (identity.Need{Kind: "*", Act: "*"}) {
		t.Errorf("admin begins with %v", admin[0])
	}
	for _, r := range identity.Matrix() {
		if n := (identity.Need{Kind: r.Kind, Act: r.Act}); seen[n] != 1 {
			t.Errorf("admin has %v %d times", n, seen[n])
		}
	}
}

func TestPermissionsOfScopes(t *testing.T) {
	t.Parallel()
	own := []identity.Need{{Kind: "account", Act: "read"}, {Kind: "account", Act: "logout"}, {Kind: "token", Act: "mint"}}
	launch := identity.Need{Kind: "catalog", Act: "launch"}
	for _, c := range []struct {
		p     identity.Principal
		has   []identity.Need
		lacks []identity.Need
	}{
		{as(identity.Admin, identity.ScopeRead), []identity.Need{{Kind: "*", Act: "read"}, {Kind: "audit", Act: "verify"}},
			[]identity.Need{{Kind: "*", Act: "*"}, {Kind: "run", Act: "submit"}, {Kind: "account", Act: "password"}, launch}},
		{as(identity.Admin, identity.ScopeOperate), []identity.Need{{Kind: "run", Act: "submit"}, launch},
			[]identity.Need{{Kind: "*", Act: "*"}, {Kind: "*", Act: "read"}, {Kind: "run", Act: "read"}}},
		{as(identity.Viewer, identity.ScopeAdmin), []identity.Need{{Kind: "run", Act: "read"}, launch},
			[]identity.Need{{Kind: "run", Act: "submit"}, {Kind: "*", Act: "read"}}},
		{as(identity.Viewer, identity.ScopeLaunch), []identity.Need{launch}, []identity.Need{{Kind: "run", Act: "read"}}},
	} {
		got := permissions(c.p)
		for _, n := range append(own, c.has...) {
			if !slices.Contains(got, n) {
				t.Errorf("%s with %s lacks %v", c.p.User.Role, c.p.Scopes, n)
			}
		}
		for _, n := range c.lacks {
			if slices.Contains(got, n) {
				t.Errorf("%s with %s has %v", c.p.User.Role, c.p.Scopes, n)
			}
		}
	}
}
