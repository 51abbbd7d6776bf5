package identitytest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func unitCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a write needs an open unit":           unitNeeded,
		"a unit reads what it wrote":           unitReads,
		"a unit that fails leaves nothing":     unitRolledBack,
		"all of a write happens in its unit":   unitWhole,
		"what it deleted is gone for the unit": unitDeletes,
	}
}

// scene holds one record of each kind.
type scene struct {
	user  identity.Account
	token identity.Token
	team  identity.Team
	org   identity.Org
	grant identity.Grant
}

func (e *env) scene(t *testing.T) scene {
	t.Helper()
	s := scene{user: e.addAccount(t, asRole(identity.Admin))}
	s.token, _ = e.addToken(t, s.user.ID, asSession(at(time.Hour)))
	s.team, s.org = e.addTeam(t, s.user.ID), e.addOrg(t, s.user.ID)
	s.grant = e.addGrant(t, identity.UserSubject(s.user.ID), e.addObject(t, ids.Project, ""), access.Use)
	e.save(t, [32]byte{1}, "oidc", nil, life)
	return s
}

// writes returns all methods that write, each with arguments that succeed.
func (e *env) writes(s scene) map[string]func(ctx context.Context) error {
	next := s.user
	next.Revision = 2
	account, newToken := e.account(), s.token
	newToken.ID = e.id(ids.Token)
	return map[string]func(ctx context.Context) error{
		"InsertAccount": func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, account, "") },
		"UpdateAccount": func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, next) },
		"SetPassword": func(ctx context.Context) error {
			return e.Accounts.SetPassword(ctx, s.user.ID, "hash", at(time.Hour), false)
		},
		"DeleteAccount": func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, s.user.ID) },
		"LockAdmins":    func(ctx context.Context) error { _, err := e.Accounts.LockAdmins(ctx); return err },
		"InsertToken":   func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, newToken, [32]byte{3, 3}) },
		"DeleteToken":   func(ctx context.Context) error { _, err := e.Tokens.DeleteToken(ctx, s.token.ID); return err },
		"DeleteTokens": func(ctx context.Context) error {
			_, err := e.Tokens.DeleteTokens(ctx, s.user.ID, identity.AllTokens, "")
			return err
		},
		"ConfirmAccount": func(ctx context.Context) error { return e.Use.ConfirmAccount(ctx, s.user.ID, at(time.Hour)) },
		"PurgeTokens": func(ctx context.Context) error {
			_, err := e.Tokens.PurgeTokens(ctx, at(2*time.Hour), 1)
			return err
		},
		"TouchTokens": func(ctx context.Context) error {
			return e.Use.TouchTokens(ctx, map[string]time.Time{s.token.ID: epoch})
		},
		"InsertTeam": func(ctx context.Context) error {
			return e.Teams.InsertTeam(ctx, identity.Team{ID: "team_x", Name: "x", CreatedAt: epoch})
		},
		"DeleteTeam": func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, s.team.ID) },
		"AddTeamMember": func(ctx context.Context) error {
			_, err := e.Teams.AddTeamMember(ctx, s.team.ID, s.user.ID, epoch)
			return err
		},
		"RemoveTeamMember": func(ctx context.Context) error { return e.Teams.RemoveTeamMember(ctx, s.team.ID, s.user.ID) },
		"InsertOrg": func(ctx context.Context) error {
			return e.Orgs.InsertOrg(ctx, identity.Org{ID: "org_x", Name: "x", CreatedAt: epoch})
		},
		"DeleteOrg": func(ctx context.Context) error { return e.Orgs.DeleteOrg(ctx, s.org.ID) },
		"PutOrgMember": func(ctx context.Context) error {
			_, err := e.Orgs.PutOrgMember(ctx, s.org.ID, s.user.ID, identity.OrgMember, epoch)
			return err
		},
		"RemoveOrgMember": func(ctx context.Context) error { return e.Orgs.RemoveOrgMember(ctx, s.org.ID, s.user.ID) },
		"InsertGrant": func(ctx context.Context) error {
			_, err := e.Grants.InsertGrant(ctx, e.grant(s.grant.Subject, s.grant.Object, access.Manage))
			return err
		},
		"DeleteGrant": func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, s.grant.ID) },
		"PutObject": func(ctx context.Context) error {
			return e.Objects.PutObject(ctx, identity.Object{ID: s.grant.Object, Org: s.org.ID})
		},
		"RemoveObject":  func(ctx context.Context) error { return e.Objects.RemoveObject(ctx, s.grant.Object) },
		"ForgetChanges": func(ctx context.Context) error { return e.Rights.ForgetChanges(ctx, 0) },
		"SaveHandshake": func(ctx context.Context) error {
			return e.Handshakes.SaveHandshake(ctx, [32]byte{2}, "oidc", nil, life)
		},
		"TakeHandshake": func(ctx context.Context) error {
			_, err := e.Handshakes.TakeHandshake(ctx, [32]byte{1}, "oidc")
			return err
		},
		"Witness": func(ctx context.Context) error {
			_, err := e.Handshakes.MarkSeen(ctx, [32]byte{1}, life)
			return err
		},
		"SavePreferences": func(ctx context.Context) error {
			_, err := e.Preferences.SavePreferences(ctx, s.user.ID, []byte(`{"a":1}`), 0)
			return err
		},
		"SaveTeamPreferences": func(ctx context.Context) error {
			_, err := e.Preferences.SaveTeamPreferences(ctx, s.team.ID, []byte(`{"a":1}`), 0)
			return err
		},
		"PurgeHandshakes": func(ctx context.Context) error { _, err := e.Handshakes.PurgeHandshakes(ctx, 1); return err },
	}
}

// everything reads all readable data of a store.
func (e *env) everything(t *testing.T) map[string]any {
	t.Helper()
	ctx, out := t.Context(), map[string]any{}
	retain := func(name string, list any, _ int, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = list
	}
	accounts, n, err := e.Accounts.ListAccounts(ctx, page.Window{})
	retain("accounts", accounts, n, err)
	for _, a := range accounts {
		_, hash, err := e.Callers.UserByName(ctx, a.Username)
		retain("hash of "+a.ID, hash, 0, err)
		own, err := e.Preferences.PreferencesOf(ctx, a.ID)
		retain("preferences of "+a.ID, own, 0, err)
	}
	tokens, n, err := e.Tokens.ListTokens(ctx, page.Window{})
	retain("tokens", tokens, n, err)
	teams, n, err := e.Teams.ListTeams(ctx, page.Window{})
	retain("teams", teams, n, err)
	for _, team := range teams {
		members, n, err := e.Teams.TeamMembers(ctx, team.ID, page.Window{})
		retain("members of "+team.ID, members, n, err)
		shared, err := e.Preferences.TeamPreferencesOf(ctx, team.ID)
		retain("preferences of "+team.ID, shared, 0, err)
	}
	orgs, n, err := e.Orgs.ListOrgs(ctx, page.Window{})
	retain("orgs", orgs, n, err)
	for _, org := range orgs {
		members, n, err := e.Orgs.OrgMembers(ctx, org.ID, page.Window{})
		retain("members of "+org.ID, members, n, err)
	}
	grants, n, err := e.Grants.ListGrants(ctx, identity.GrantFilter{}, page.Window{})
	retain("grants", grants, n, err)
	objects, n, err := e.Objects.Readable(ctx, identity.KindProject, access.Everything(), page.Window{})
	retain("objects", objects, n, err)
	m := e.load(t)
	out["version"], out["rights"] = m.version, m.state
	return out
}

func unitNeeded(t *testing.T, e *env) {
	s := e.scene(t)
	before := e.everything(t)
	for name, write := range e.writes(s) {
		if err := write(t.Context()); !fault.Is(err, fault.Internal) {
			t.Errorf("%s without a unit: %v", name, err)
		}
	}
	var over context.Context
	e.must(t, func(ctx context.Context) error { over = ctx; return nil })
	for name, write := range e.writes(s) {
		if err := write(over); !fault.Is(err, fault.Internal) {
			t.Errorf("%s after its unit: %v", name, err)
		}
	}
	same(t, "the store", before, e.everything(t))
}

func unitRolledBack(t *testing.T, e *env) {
	s := e.scene(t)
	before := e.everything(t)
	writes := e.writes(s)
	for _, name := range slices.Sorted(maps.Keys(writes)) {
		err := e.do(t, func(ctx context.Context) error {
			if err := writes[name](ctx); err != nil {
				return err
			}
			return errAbandoned
		})
		if !errors.Is(err, errAbandoned) {
			t.Errorf("%s: the unit ends with %v", name, err)
		}
	}
	same(t, "the store", before, e.everything(t))
	_, err := e.take(t, [32]byte{2}, "oidc")
	wantFault(t, err, identity.HandshakeNotFound)
	_, err = e.take(t, [32]byte{1}, "oidc")
	noError(t, err)
}

// unitWhole: a refused write of several statements is rolled back completely.
func unitWhole(t *testing.T, e *env) {
	s := e.scene(t)
	other := e.addAccount(t, linked(link("taken")))
	before := e.everything(t)
	next := s.user
	next.Revision, next.Username, next.Identities = 2, "another", []identity.Link{link("free"), link("taken")}
	e.refused(t, identity.LinkTaken, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, next) })
	e.must(t, func(ctx context.Context) error {
		return e.Objects.PutObject(ctx, identity.Object{ID: s.grant.Object, Org: s.org.ID})
	})
	e.inUse(t, s.org.ID, 1)
	e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: s.grant.Object}) })
	after := e.everything(t)
	delete(before, "version")
	delete(after, "version")
	same(t, "the store", before, after)
	same(t, "whose identity it is", other, e.getAccount(t, other.ID))
}

func unitReads(t *testing.T, e *env) {
	a := e.account(linked(link("a")))
	org := identity.Org{ID: e.id(ids.Org), Name: "o", CreatedAt: epoch}
	team := identity.Team{ID: e.id(ids.Team), Name: "t", CreatedAt: epoch}
	tok, hash := e.token(a.ID)
	object := e.id(ids.Project)
	g := e.grant(identity.TeamSubject(team.ID), object, access.Use)
	e.must(t, func(ctx context.Context) error {
		_, firstErr := e.Rights.LoadRights(ctx)
		err := errors.Join(firstErr, e.Accounts.InsertAccount(ctx, a, "hash"), e.Tokens.InsertToken(ctx, tok, hash),
			e.Teams.InsertTeam(ctx, team), e.Orgs.InsertOrg(ctx, org),
			e.Objects.PutObject(ctx, identity.Object{ID: object, Org: org.ID}))
		if err != nil {
			return err
		}
		if _, err := e.Teams.AddTeamMember(ctx, team.ID, a.ID, epoch); err != nil {
			return err
		}
		if _, err := e.Orgs.PutOrgMember(ctx, org.ID, a.ID, identity.OrgAdmin, epoch); err != nil {
			return err
		}
		_, err = e.Grants.InsertGrant(ctx, g)
		tok.Username = a.Username
		return errors.Join(err, e.readsWithin(ctx, t, a, tok, hash, g))
	})
}

// readsWithin reads what a unit wrote.
func (e *env) readsWithin(
	ctx context.Context, t *testing.T, a identity.Account, tok identity.Token, hash [32]byte, g identity.Grant,
) error {
	t.Helper()
	bearer, err := e.Callers.TokenByHash(ctx, hash)
	same(t, "the token within the unit", tok, bearer.Token)
	u, hashed, second := e.Callers.UserByName(ctx, a.Username)
	same(t, "the account within the unit", a.User, u)
	same(t, "its hash within the unit", "hash", hashed)
	u, third := e.Callers.UserByLink(ctx, a.Identities[0])
	same(t, "the account of its identity", a.User, u)
	grants, n, fourth := e.Grants.ListGrants(ctx, identity.GrantFilter{}, page.Window{})
	same(t, "grants within the unit", []identity.Grant{g}, grants)
	same(t, "their total", 1, n)
	objects, n, fifth := e.Objects.Readable(ctx, identity.KindProject, access.Scope{Subjects: []string{g.Subject}},
		page.Window{})
	same(t, "objects within the unit", []string{g.Object}, objects)
	same(t, "their total", 1, n)
	teams, sixth := e.Teams.TeamsOf(ctx, a.ID)
	same(t, "teams within the unit", 1, len(teams))
	r, seventh := e.Rights.LoadRights(ctx)
	same(t, "rights within the unit", [2]int{1, 1}, [2]int{len(r.Objects), len(r.Users)})
	same(t, "version within the unit", bearer.Version, r.Version)
	return errors.Join(err, second, third, fourth, fifth, sixth, seventh)
}

func unitDeletes(t *testing.T, e *env) {
	s := e.scene(t)
	e.must(t, func(ctx context.Context) error {
		if err := e.Accounts.DeleteAccount(ctx, s.user.ID); err != nil {
			return err
		}
		_, err := e.Tokens.TokenByID(ctx, s.token.ID)
		wantFault(t, err, identity.TokenNotFound)
		_, err = e.Grants.GrantByID(ctx, s.grant.ID)
		wantFault(t, err, identity.GrantNotFound)
		return e.Accounts.InsertAccount(ctx, s.user, "") // the same account again
	})
	same(t, "the account", s.user, e.getAccount(t, s.user.ID))
	same(t, "its members", []identity.Member{}, e.members(t, s.team.ID))
}
