package casbin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

func TestGrantsAddUp(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.member(identity.UserRights{UserID: "usr_1", Teams: []string{"team_b", "team_a"}})
	w.put(granted("prj_1", "", "team:team_a", "read", "user:usr_1", "use", "team:team_b", "manage", "user:usr_2", "read"))
	w.put(granted("prj_2", "", "user:usr_1", "use", "user:usr_1", "read", "user:usr_1", "manage", "team:team_c", "manage"))
	w.put(granted("prj_3", "", "team:team_c", "manage", "team:team_b", "use"))
	w.put(granted("prj_4", "", "team:team_c", "manage"))
	v := w.put(granted("prj_5", "", "user:usr_1", "own", "user:usr_1", "read", "user:usr_2", "own"))
	a := setup(t, Config{}, w)
	levels := map[string][3]access.Level{ // the operator usr_1, the viewer usr_1, the operator usr_2
		"prj_1": {access.Manage, access.Use, access.Read},
		"prj_2": {access.Manage, access.Use, access.None},
		"prj_3": {access.Use, access.Use, access.None},
		"prj_4": {access.None, access.None, access.None},
		"prj_5": {access.Read, access.Read, access.None},
		"prj_6": {access.Use, access.Read, access.Use},
	}
	for name, want := range levels {
		got := [3]access.Level{best(t, a, as("usr_1", identity.Operator, v), name),
			best(t, a, as("usr_1", identity.Viewer, v), name),
			best(t, a, as("usr_2", identity.Operator, v), name)}
		if got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// TestNamesAreWhole: no name matches another one that begins with it or differs only in case or form.
func TestNamesAreWhole(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.member(identity.UserRights{UserID: "usr_1", Admin: []string{"org_1"}})
	w.put(granted("queue:a", "", "user:usr_1", "manage"))
	v := w.put(granted("prj_1", "org_10", "user:usr_10", "manage", "team:usr_1", "manage", "usr_1", "manage", "*",
		"manage"))
	a := setup(t, Config{Strict: true}, w)
	for _, id := range []string{"usr_1", "usr_", "", "*", "user:usr_1"} {
		for _, name := range []string{"prj_1", "queue:a*", "queue:", "queue:A", "*", "prj_*"} {
			if l := best(t, a, as(id, identity.Operator, v), name); l != access.None {
				t.Errorf("%q may %s %q", id, l, name)
			}
		}
	}
}

// TestNeedsThatFitNothing: only an admin is allowed for objects that cannot carry grants, for wrong kinds and for
// unknown acts.
func TestNeedsThatFitNothing(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.member(identity.UserRights{UserID: "usr_1", Admin: []string{"org_1", ""}})
	w.put(identity.ObjectRights{Object: "prj_2"})
	w.put(granted("run_1", "org_1", "user:usr_1", "manage"))
	v := w.put(granted("prj_1", "org_1", "user:usr_1", "manage"))
	a := setup(t, Config{}, w)
	for _, n := range []identity.Need{
		{Kind: "run", Act: "read", Object: "run_1"}, {Kind: "template", Act: "read", Object: "prj_1"},
		{Kind: "queue", Act: "use", Object: "prj_1"},
		{Kind: "project", Act: "delete", Object: "prj_1"}, {Kind: "project", Act: "*", Object: "prj_1"},
		{Kind: "*", Act: "read", Object: "prj_1"},
		{Kind: "project", Act: "create", Object: "prj_1", Org: "org_1"}, {Kind: "project", Act: "create", Object: "prj_1"},
		{Kind: "project", Act: "read"}, {Kind: "project", Act: "read", Org: "org_1"},
		{Kind: "project", Act: "manage", Org: "org_1"},
		{Kind: "project", Act: "create"}, {Kind: "project", Act: "create", Org: "org_2"},
		{Kind: "queue", Act: "create", Org: "org_1"},
		{Kind: "team", Act: "create", Org: "org_1"}, {Kind: "", Act: "", Object: "x"}, {Kind: "", Act: "read", Object: "x"},
	} {
		if err := a.Authorize(t.Context(), as("usr_1", identity.Operator, v), n); !identity.NotAllowed.Is(err) {
			t.Errorf("%+v: %v", n, err)
		}
		if err := a.Authorize(t.Context(), as("usr_9", identity.Admin, v), n); err != nil {
			t.Errorf("an admin, %+v: %v", n, err)
		}
	}
	n := identity.Need{Kind: "project", Act: "create", Org: "org_1"}
	if err := a.Authorize(t.Context(), as("usr_1", identity.Operator, v), n); err != nil {
		t.Error(err)
	}
	// A need's organization has no effect on an object that exists.
	n = identity.Need{Kind: "project", Act: "manage", Object: "prj_2", Org: "org_1"}
	if err := a.Authorize(t.Context(), as("usr_1", identity.Operator, v), n); !identity.NotAllowed.Is(err) {
		t.Error(err)
	}
}

func TestQueuesBelongToNobody(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.member(identity.UserRights{UserID: "usr_1", Admin: []string{"org_1"}})
	v := w.put(granted("queue:gpu", "org_1", "user:usr_2", "use"))
	a := setup(t, Config{}, w)
	if l := best(t, a, as("usr_1", identity.Operator, v), "queue:gpu"); l != access.None {
		t.Errorf("the organization's admin may %s", l)
	}
	if l := best(t, a, as("usr_2", identity.Viewer, v), "queue:gpu"); l != access.Use {
		t.Errorf("who has a grant may %s", l)
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.member(identity.UserRights{UserID: "usr_1", Teams: []string{"team_b", "team_a"},
		Admin: []string{"org_2", "org_1"}})
	open, strict := setup(t, Config{}, w), setup(t, Config{Strict: true}, w)
	scope := func(a *Authorizer, p identity.Principal) access.Scope {
		t.Helper()
		s, err := a.Scope(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, own := as("usr_1", identity.Viewer, v), []string{"team:team_a", "team:team_b", "user:usr_1"}
	same := func(got, want access.Scope) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	same(scope(open, one), access.Everything()) // nothing is restricted
	same(scope(strict, one), access.Scope{Subjects: own, Orgs: []string{"org_1", "org_2"}, Strict: true})
	one.Version = w.put(granted("prj_1", ""))
	same(scope(open, one), access.Scope{Subjects: own, Orgs: []string{"org_1", "org_2"}})
	same(scope(open, as("usr_2", identity.Operator, one.Version)), access.Scope{Subjects: []string{"user:usr_2"}})
	same(scope(open, as("usr_1", identity.Admin, one.Version)), access.Everything())
	same(scope(strict, as("usr_1", identity.Admin, one.Version)), access.Everything())
	same(scope(open, as("usr_1", none, one.Version)), access.Scope{Strict: true})
	same(scope(open, as("usr_1", "root", one.Version)), access.Scope{Strict: true})

	s := scope(open, one) // changes by a caller do not affect the index
	s.Subjects[0], s.Orgs[0] = "user:usr_9", "org_9"
	same(scope(open, one), access.Scope{Subjects: own, Orgs: []string{"org_1", "org_2"}})

	one.Version = w.put(identity.ObjectRights{Object: "prj_1"})
	same(scope(open, one), access.Everything())
}

// TestIndexAgrees compares the index, loaded at once and updated step by step, with a walk over the stored rights.
func TestIndexAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newStore()
		step := newIndex()
		step.load(identity.Rights{})
		name := rapid.SampledFrom([]string{"prj_1", "prj_2", "inv_1", "queue:a"})
		user := rapid.SampledFrom([]string{"usr_1", "usr_2", "usr_3"})
		teams := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"team_1", "team_2", "team_3", "team_4"}), 0, 4,
			rapid.ID[string])
		orgs := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"org_1", "org_2"}), 0, 2, rapid.ID[string])
		grants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) identity.SubjectLevel {
			subject := rapid.SampledFrom([]string{"user:usr_1", "user:usr_2", "team:team_1", "team:team_2", "team:team_3",
				"team:team_4"})
			return identity.SubjectLevel{Subject: subject.Draw(t, "subject"), Level: rapid.SampledFrom(acts()).Draw(t, "level")}
		}), 0, 12)
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			if rapid.Bool().Draw(t, "about an account") {
				u := identity.UserRights{UserID: user.Draw(t, "account")}
				u.Teams, u.Admin = teams.Draw(t, "teams"), orgs.Draw(t, "organizations")
				w.member(u)
			} else {
				w.put(identity.ObjectRights{Object: name.Draw(t, "object"),
					Org:        rapid.SampledFrom([]string{"", "org_1"}).Draw(t, "organization"),
					Restricted: rapid.Bool().Draw(t, "restricted"), Grants: grants.Draw(t, "grants")})
			}
			if r, _, _ := w.RightsSince(t.Context(), step.version.Load()); rapid.Bool().Draw(t, "catch up") {
				step.apply(r)
			}
		}
		r, _, _ := w.RightsSince(t.Context(), step.version.Load())
		step.apply(r)
		whole := newIndex()
		all, _ := w.LoadRights(t.Context())
		whole.load(all)
		for kind, x := range map[string]*index{"loaded": whole, "caught up": step} {
			if err := x.differs(w); err != "" || !x.knows(w.version) || x.knows(w.version+1) {
				t.Errorf("%s: %s at version %d", kind, err, x.version.Load())
			}
		}
		if len(whole.accounts) != len(step.accounts) || len(whole.objects) != len(step.objects) {
			t.Errorf("%d and %d, %d and %d", len(whole.accounts), len(step.accounts), len(whole.objects), len(step.objects))
		}
	})
}

// differs returns a difference between an index and the store.
func (x *index) differs(w *rightsStore) string {
	restricted := 0
	for _, o := range w.objects {
		if o.Restricted {
			restricted++
		}
	}
	if _, n := x.scope("usr_1"); n != restricted {
		return fmt.Sprintf("%d restricted, not %d", n, restricted)
	}
	for _, id := range []string{"usr_1", "usr_2", "usr_3", "usr_4"} {
		u := w.users[id]
		for _, name := range []string{"prj_1", "prj_2", "inv_1", "queue:a", "prj_9"} {
			o := w.objects[name]
			who, what := x.view(id, name)
			want := access.None
			for _, g := range o.Grants {
				mine := g.Subject == "user:"+id || slices.ContainsFunc(u.Teams, func(team string) bool {
					return g.Subject == "team:"+team
				})
				if mine && !want.Covers(g.Level) {
					want = g.Level
				}
			}
			org := o.Org
			if name == "queue:a" {
				org = ""
			}
			if got := what.level(who.names); got != want || what.restricted != o.Restricted || what.org != org {
				return fmt.Sprintf("%s on %s: %q not %q, %+v not %+v", id, name, got, want, what, o)
			}
			slices.Sort(u.Admin)
			if !slices.Equal(who.orgs, u.Admin) {
				return fmt.Sprintf("%s administers %v, not %v", id, who.orgs, u.Admin)
			}
		}
	}
	return ""
}
