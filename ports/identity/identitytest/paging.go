package identitytest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func pageCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"windows of accounts":      pageAccounts,
		"windows of tokens":        pageTokens,
		"windows of teams":         pageTeams,
		"windows of organizations": pageOrgs,
		"windows of grants":        pageGrants,
		"windows of objects":       pageObjects,
		"no answer is endless":     pageBound,
	}
}

const rows = 7

// shuffled returns the numbers below rows out of order.
func shuffled() []int { return []int{3, 0, 6, 2, 5, 1, 4} }

// windows reads a list through many windows and compares each with its part of the whole.
func windows[T any](t *testing.T, what string, whole []T, read func(w page.Window) ([]T, int, error)) {
	t.Helper()
	for _, w := range []page.Window{
		{}, {Limit: 1}, {Limit: 3}, {Offset: 2, Limit: 3}, {Offset: 3}, {Offset: rows - 1, Limit: 5},
		{Offset: rows, Limit: 1}, {Offset: 100},
		{Limit: rows}, {Offset: 1, Limit: rows}, {Limit: page.MaxRows}, {Limit: page.MaxRows + 1}, {Limit: 1 << 40},
		{Offset: 1 << 40, Limit: 1},
	} {
		got, n, err := read(w)
		if err != nil {
			t.Fatalf("%s, %+v: %v", what, w, err)
		}
		same(t, fmt.Sprintf("%s, %+v", what, w), cut(whole, w), got)
		same(t, fmt.Sprintf("total of %s, %+v", what, w), len(whole), n)
	}
}

// numbered adds accounts whose names sort by their number.
func (e *env) numbered(t *testing.T) []identity.Account {
	out := make([]identity.Account, rows)
	for _, i := range shuffled() {
		out[i] = e.addAccount(t, named(fmt.Sprint("user ", i)), linked(link(fmt.Sprint("a", i)), link(fmt.Sprint("b", i))))
	}
	return out
}

func pageAccounts(t *testing.T, e *env) {
	windows(t, "accounts", e.numbered(t), func(w page.Window) ([]identity.Account, int, error) {
		return e.Accounts.ListAccounts(t.Context(), w)
	})
}

func pageTokens(t *testing.T, e *env) {
	u := e.addAccount(t)
	whole := make([]identity.Token, rows)
	for _, i := range shuffled() {
		whole[i], _ = e.addToken(t, u.ID, func(tok *identity.Token) { tok.CreatedAt = at(identity.HandshakeTTL * 1 << i) })
	}
	windows(t, "tokens", whole, func(w page.Window) ([]identity.Token, int, error) {
		return e.Tokens.ListTokens(t.Context(), w)
	})
}

func pageTeams(t *testing.T, e *env) {
	var whole []identity.Team
	for range rows {
		whole = append(whole, e.addTeam(t))
	}
	slices.Reverse(whole)
	for _, team := range whole {
		e.must(t, func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, team.ID) })
		e.must(t, func(ctx context.Context) error { return e.Teams.InsertTeam(ctx, team) })
	}
	slices.SortFunc(whole, func(a, b identity.Team) int { return strings.Compare(a.Name, b.Name) })
	windows(t, "teams", whole, func(w page.Window) ([]identity.Team, int, error) {
		return e.Teams.ListTeams(t.Context(), w)
	})

	var members []identity.Member
	for _, u := range e.numbered(t) {
		members = append(members, e.join(t, whole[0].ID, u.ID, epoch))
		e.join(t, whole[1].ID, u.ID, epoch)
	}
	windows(t, "members", members, func(w page.Window) ([]identity.Member, int, error) {
		return e.Teams.TeamMembers(t.Context(), whole[0].ID, w)
	})
}

func pageOrgs(t *testing.T, e *env) {
	whole := make([]identity.Org, rows)
	for _, i := range shuffled() {
		whole[i] = identity.Org{ID: e.id(ids.Org), Name: fmt.Sprint("org ", i), CreatedAt: epoch}
		e.must(t, func(ctx context.Context) error { return e.Orgs.InsertOrg(ctx, whole[i]) })
	}
	windows(t, "organizations", whole, func(w page.Window) ([]identity.Org, int, error) {
		return e.Orgs.ListOrgs(t.Context(), w)
	})

	var members []identity.Member
	for i, u := range e.numbered(t) {
		role := []identity.OrgRole{identity.OrgAdmin, identity.OrgMember}[i%2]
		members = append(members, e.putMember(t, whole[0].ID, u.ID, role, epoch))
		e.putMember(t, whole[1].ID, u.ID, role, epoch)
	}
	windows(t, "members", members, func(w page.Window) ([]identity.Member, int, error) {
		return e.Orgs.OrgMembers(t.Context(), whole[0].ID, w)
	})
}

func pageGrants(t *testing.T, e *env) {
	u, v := identity.UserSubject(e.addAccount(t).ID), identity.UserSubject(e.addAccount(t).ID)
	var whole []identity.Grant
	for _, i := range shuffled() {
		object := e.addObject(t, ids.Project, "")
		g := e.grant(u, object, access.Use)
		g.CreatedAt = at(identity.HandshakeTTL * 1 << i)
		_, err := e.insertGrant(t, g)
		noError(t, err)
		whole = append(whole, g)
		gone := e.addObject(t, ids.Project, "")
		e.addGrant(t, u, gone, access.Use)
		e.remove(t, gone)
	}
	slices.SortFunc(whole, func(a, b identity.Grant) int { return cmp.Compare(a.CreatedAt.Unix(), b.CreatedAt.Unix()) })
	for _, f := range []identity.GrantFilter{{}, {Subject: u}} {
		windows(t, "grants", whole, func(w page.Window) ([]identity.Grant, int, error) {
			return e.Grants.ListGrants(t.Context(), f, w)
		})
	}
	e.addGrant(t, v, whole[0].Object, access.Use)
	windows(t, "grants of one subject", whole, func(w page.Window) ([]identity.Grant, int, error) {
		return e.Grants.ListGrants(t.Context(), identity.GrantFilter{Subject: u}, w)
	})
}

func pageObjects(t *testing.T, e *env) {
	u := identity.UserSubject(e.addAccount(t).ID)
	whole := make([]string, rows)
	for i := range whole {
		whole[i] = e.id(ids.Template)
	}
	for _, i := range shuffled() {
		e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: whole[i]}) })
		e.addGrant(t, u, whole[i], access.Read)
		e.addGrant(t, u, whole[i], access.Manage)
		e.addObject(t, ids.Project, "")
	}
	for _, s := range []access.Scope{access.Everything(), {Subjects: []string{u}}, {Subjects: []string{u}, Strict: true}} {
		windows(t, "objects", whole, func(w page.Window) ([]string, int, error) {
			return e.Objects.Readable(t.Context(), identity.KindTemplate, s, w)
		})
	}
	windows(t, "hidden objects", nil, func(w page.Window) ([]string, int, error) {
		return e.Objects.Readable(t.Context(), identity.KindTemplate, access.Scope{}, w)
	})
}

// pageBound: a window returns at most page.MaxRows, and the total still counts all.
func pageBound(t *testing.T, e *env) {
	const n, each = page.MaxRows + 4, 251 // in units that are short enough for a busy machine
	u := e.addAccount(t)
	for from := 0; from < n; from += each {
		e.must(t, func(ctx context.Context) error {
			for i := from; i < from+each; i++ {
				tok, _ := e.token(u.ID)
				if err := e.Tokens.InsertToken(ctx, tok, [32]byte{byte(i), byte(i >> 8), 1}); err != nil {
					return err
				}
				if err := e.Objects.PutObject(ctx, identity.Object{ID: e.id(ids.Project)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, w := range []page.Window{{}, {Limit: n}, {Offset: 2}, {Offset: 4}} {
		want := min(page.MaxRows, n-w.Offset)
		tokens, total, err := e.Tokens.ListTokens(t.Context(), w)
		noError(t, err)
		same(t, fmt.Sprintf("tokens, %+v", w), [2]int{want, n}, [2]int{len(tokens), total})
		objects, total, err := e.Objects.Readable(t.Context(), identity.KindProject, access.Scope{}, w)
		noError(t, err)
		same(t, fmt.Sprintf("objects, %+v", w), [2]int{want, n}, [2]int{len(objects), total})
	}
}
