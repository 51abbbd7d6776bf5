package casbin

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/identity/identitytest"
)

const none = identity.Role("")

func roles() []identity.Role {
	return []identity.Role{none, "root", "Admin", "*", identity.Viewer, identity.Operator, identity.Admin}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	identitytest.RunAuthorizer(t, func(t *testing.T, rights identity.RightsStore, strict bool) identity.Authorizer {
		a, err := New(Config{Strict: strict}, rights)
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
}

// TestEveryLevel computes the expected level of every role for every kind, grant, organization role and mode
// independently.
func TestEveryLevel(t *testing.T) {
	t.Parallel()
	const me, org = "usr_1", "org_1"
	for _, strict := range []bool{false, true} {
		for _, name := range []string{"prj_1", "tpl_1", "inv_1", "crd_1", "queue:q"} {
			for _, level := range append(acts(), access.None) {
				for _, restricted := range []bool{false, true} {
					for _, orgAdmin := range []bool{false, true} {
						if level != access.None && !restricted {
							continue
						}
						w := newStore()
						o := identity.ObjectRights{Object: name, Org: org, Restricted: restricted}
						if level != access.None {
							o = granted(name, org, identity.UserSubject(me), string(level))
						}
						v := w.put(o)
						if orgAdmin {
							v = w.member(identity.UserRights{UserID: me, Admin: []string{"org_0", org}})
						}
						a := setup(t, Config{Strict: strict}, w)
						for _, r := range roles() {
							administers := orgAdmin && !strings.HasPrefix(name, "queue:")
							want := expected(r, restricted || strict, level, administers)
							if got := best(t, a, as(me, r, v), name); got != want {
								t.Errorf("%q on %s, strict %v, restricted %v, grant %q, organization %v: %q, not %q",
									r, name, strict, restricted, level, orgAdmin, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func expected(r identity.Role, closed bool, grant access.Level, administers bool) access.Level {
	rank := map[access.Level]int{access.None: 0, access.Read: 1, access.Use: 2, access.Manage: 3}
	n := rank[grant]
	if !closed {
		n = max(n, r.Rank())
	}
	if administers {
		n = 3
	}
	switch r {
	case identity.Admin:
		n = 3
	case identity.Operator:
	case identity.Viewer:
		n = min(n, 2)
	default:
		n = 0
	}
	return append([]access.Level{access.None}, acts()...)[n]
}

func TestOpenModeMayEverything(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.put(granted("prj_1", ""))
	w.breaks(errors.New("nobody asks"))
	a := setup(t, Config{Strict: true}, w)
	p := identity.Principal{Open: true, Version: 5}
	for _, n := range []identity.Need{
		{Kind: "project", Act: "manage", Object: "prj_1"}, {Kind: "user", Act: "delete"},
		{Kind: "run", Act: "read", Object: "run_1"},
	} {
		if err := a.Authorize(t.Context(), p, n); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if s, err := a.Scope(t.Context(), p); err != nil || !s.All {
		t.Errorf("%+v, %v", s, err)
	}
	if w.loads.Load() != 0 {
		t.Error("the rights were read for somebody who may everything")
	}
}

// TestRefusalsNameNoObject: the message contains only the role, the act and the kind.
func TestRefusalsNameNoObject(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.put(granted("inv_secret", "org_secret"))
	a := setup(t, Config{}, w)
	n := identity.Need{Kind: "inventory", Act: "use", Object: "inv_secret"}
	err := a.Authorize(t.Context(), as("usr_1", identity.Operator, v), n)
	if !identity.NotAllowed.Is(err) || err.Error() != `the role "operator" may not use an inventory` {
		t.Error(err)
	}
	err = a.Authorize(t.Context(), as("usr_1", identity.Viewer, v),
		identity.Need{Kind: "template", Act: "create", Org: "org_secret"})
	if !identity.NotAllowed.Is(err) || err.Error() != `the role "viewer" may not create a template` {
		t.Error(err)
	}
}
