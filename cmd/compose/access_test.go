package compose_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/casbin"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// deciders are the two modes over one store.
func deciders(t testing.TB, w *accessModel) map[bool]identity.Authorizer {
	t.Helper()
	out := make(map[bool]identity.Authorizer)
	for _, strict := range []bool{false, true} {
		a, err := casbin.New(casbin.Config{Strict: strict}, w.store)
		if err != nil {
			t.Fatal(err)
		}
		out[strict] = a
	}
	return out
}

// failure reports where two of the three disagree: the decisions, the lists and the rules of the model. It is empty if
// they agree.
func (w *accessModel) failure(
	ctx context.Context, user string, deciders map[bool]identity.Authorizer, rows int,
) string {
	c, err := w.store.Caller(ctx, user, "")
	if err != nil {
		return err.Error()
	}
	u := c.User
	p, grants := identity.Principal{User: u, Version: c.Version}, w.byObject()
	for strict, a := range deciders {
		readable := make(map[string][]string)
		for object, o := range w.objects {
			want := w.level(user, object, strict, grants[object])
			got, err := reach(ctx, a, p, object)
			if err != nil || got != want {
				return fmt.Sprintf("%s %s may %q %s %+v (strict %v), not %q: %v", u.Role, user, got, object, *o, strict, want, err)
			}
			if kind := identity.KindOf(object); want.Covers(access.Read) && !o.gone {
				readable[kind] = append(readable[kind], object)
			}
		}
		s, err := a.Scope(ctx, p)
		if err != nil {
			return err.Error()
		}
		for kind := range objectKinds() {
			slices.Sort(readable[kind])
			if message := w.listed(ctx, kind, s, rows, readable[kind]); message != "" {
				return fmt.Sprintf("%s %s lists as %s (strict %v, scope %+v): %s", u.Role, user, kind, strict, s, message)
			}
		}
	}
	return ""
}

// listed reads all pages of a list and one after the last.
func (w *accessModel) listed(ctx context.Context, kind string, s access.Scope, rows int, want []string) string {
	var got []string
	for {
		found, total, err := w.store.Readable(ctx, kind, s, page.Window{Offset: len(got), Limit: rows})
		if err != nil {
			return err.Error()
		}
		if total != len(want) {
			return fmt.Sprintf("a total of %d, not %d, from %d on", total, len(want), len(got))
		}
		if len(found) == 0 {
			break
		}
		if got = append(got, found...); len(found) > rows || len(got) > len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("%v, not %v", got, want)
	}
	return ""
}

// reach returns the highest level of an account on an object, and an error if the levels do not nest or a decision
// fails.
func reach(ctx context.Context, a identity.Authorizer, p identity.Principal, object string) (access.Level, error) {
	top, refused := access.None, false
	for _, l := range []access.Level{access.Read, access.Use, access.Manage} {
		err := a.Authorize(ctx, p, identity.Need{Kind: identity.KindOf(object), Act: string(l), Object: object})
		switch {
		case err == nil && refused:
			return top, fmt.Errorf("the levels do not nest at %q", l)
		case err == nil:
			top = l
		case identity.NotAllowed.Is(err):
			refused = true
		default:
			return top, err
		}
	}
	return top, nil
}

// smallModels is the number of models: each needs some hundred statements.
func smallModels() int { return depthtest.Of(12, 30) }

// TestListsAgreeWithDecisions draws small models and, after every few changes, compares lists and decisions with each
// other and with the rules of the model.
// Keeps T10.
func TestListsAgreeWithDecisions(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		made := 0
		rapid.Check(t, func(rt *rapid.T) {
			if made == smallModels() {
				return
			}
			wipe(t, d)
			w := newAccessModel(d, func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) })
			both := deciders(t, w)
			for range 3 {
				w.addAccount()
				w.addObject()
			}
			w.addTeam()
			w.addOrg()
			for range rapid.IntRange(1, 2).Draw(rt, "rounds") {
				for range rapid.IntRange(1, 25).Draw(rt, "changes") {
					w.change()
				}
				w.flush(t.Context(), t)
				for range 2 {
					if user, ok := one(w, w.roles, "account"); ok {
						if message := w.failure(t.Context(), user, both, 3); message != "" {
							rt.Fatal(message)
						}
					}
				}
			}
			made++
		})
	})
}

// wipe empties the tables. A component with a cached index of them must not be used again.
func wipe(t testing.TB, d *db.DB) {
	t.Helper()
	err := d.Do(t.Context(), func(ctx context.Context) error {
		q, err := d.Write(ctx)
		if err != nil {
			return err
		}
		tables := []string{"grants", "access_objects", "team_members", "org_members", "teams", "orgs", "users",
			"access_changes"}
		for _, table := range tables {
			if _, err := q.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListsAgreeWithDecisionsAtFullSize makes 50 accounts, 20 teams, 10 organizations and 2,000 objects in a long run
// and fewer in a quick one, checks a sample of the accounts, changes a tenth of it and checks again.
func TestListsAgreeWithDecisionsAtFullSize(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		w := newAccessModel(d, func(n int, _ string) int { return r.IntN(n) })
		both := deciders(t, w)
		fill := func(n int, fn func()) {
			for range n {
				fn()
			}
		}
		fill(depthtest.Of(25, 50), w.addAccount)
		fill(20, w.addTeam)
		fill(10, w.addOrg)
		fill(depthtest.Of(300, 2000), w.addObject)
		fill(150, w.joinTeam)
		fill(30, w.joinOrg)
		fill(depthtest.Of(150, 800), w.grant)
		fill(depthtest.Of(30, 200), w.removeObject)
		fill(depthtest.Of(150, 800), w.grant)
		fill(5, w.deleteAccount)
		fill(2, w.deleteTeam)
		for range 2 {
			w.flush(t.Context(), t)
			users, asked := make(map[identity.Role]int), 0
			for user, role := range w.roles { // in no order
				if users[role]++; users[role] > 2 {
					continue
				}
				asked++
				if message := w.failure(t.Context(), user, both, 100); message != "" {
					t.Fatal(message)
				}
			}
			t.Logf("%d accounts, %d teams, %d organizations, %d objects, %d grants: asked for %d", len(w.roles), len(w.teams),
				len(w.orgs),
				len(w.objects), len(w.grants), asked)
			fill(depthtest.Of(50, 300), w.change)
		}
	})
}
