package identitytest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func deletedAccount(t *testing.T, e *env) {
	a, b := e.addAccount(t, linked(link("a"))), e.addAccount(t, linked(link("b")))
	own, ownHash := e.addToken(t, a.ID)
	session, sessionHash := e.addToken(t, a.ID, asSession(epoch))
	kept, keptHash := e.addToken(t, b.ID)
	for _, u := range []identity.Account{a, b} {
		e.must(t, func(ctx context.Context) error {
			return e.Accounts.SetPassword(ctx, u.ID, "hash of "+u.ID, epoch, true)
		})
	}
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })

	_, err := e.Accounts.AccountByID(t.Context(), a.ID)
	wantFault(t, err, identity.UserNotFound)
	for _, tok := range []identity.Token{own, session} {
		_, err := e.Tokens.TokenByID(t.Context(), tok.ID)
		wantFault(t, err, identity.TokenNotFound)
	}
	for _, hash := range [][32]byte{ownHash, sessionHash} {
		_, err := e.Callers.TokenByHash(t.Context(), hash)
		wantFault(t, err, identity.TokenNotFound)
	}
	bearer, err := e.Callers.TokenByHash(t.Context(), keptHash)
	noError(t, err)
	same(t, "another account's token", kept, bearer.Token)
	b.HasPassword = true
	same(t, "another account", b, e.getAccount(t, b.ID))
	n, err := e.Accounts.CountAccounts(t.Context())
	noError(t, err)
	same(t, "accounts", 1, n)
}

// deletedGrants: objects restricted to a deleted account stay restricted, and only its own grants are deleted.
func deletedGrants(t *testing.T, e *env) {
	a, b := e.addAccount(t), e.addAccount(t)
	org := e.addOrg(t)
	alone, shared := e.addObject(t, ids.Template, ""), e.addObject(t, ids.Template, org.ID)
	gone, open := e.addObject(t, ids.Template, ""), e.addObject(t, ids.Template, "")
	dropped := e.addGrant(t, identity.UserSubject(a.ID), alone, access.Manage)
	e.addGrant(t, identity.UserSubject(a.ID), alone, access.Read)
	e.addGrant(t, identity.UserSubject(a.ID), shared, access.Use)
	kept := e.addGrant(t, identity.UserSubject(b.ID), shared, access.Read)
	e.addGrant(t, identity.UserSubject(a.ID), access.Queue("q"), access.Use)
	e.addGrant(t, identity.UserSubject(a.ID), gone, access.Use)
	e.remove(t, gone)
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })

	_, err := e.Grants.GrantByID(t.Context(), dropped.ID)
	wantFault(t, err, identity.GrantNotFound)
	list, n, err := e.Grants.ListGrants(t.Context(), identity.GrantFilter{}, page.Window{})
	noError(t, err)
	same(t, "grants", []identity.Grant{kept}, list)
	same(t, "total", 1, n)
	same(t, "rights", state{Objects: map[string]identity.ObjectRights{
		alone:             {Object: alone, Restricted: true},
		access.Queue("q"): {Object: access.Queue("q"), Restricted: true},
		gone:              {Object: gone, Restricted: true},
		shared: {Object: shared, Org: org.ID, Restricted: true,
			Grants: []identity.SubjectLevel{{Subject: kept.Subject, Level: kept.Level}}},
	}}, e.load(t).state)
	got := e.readable(t, identity.KindTemplate, access.Scope{Subjects: []string{identity.UserSubject(a.ID)}})
	same(t, "what everybody may read", []string{open}, got)

	// Deleting the last grant by itself ends the restriction.
	e.dropGrant(t, kept)
	rights := e.load(t).state.Objects
	same(t, "after the last grant", identity.ObjectRights{Object: shared, Org: org.ID}, rights[shared])
}

// deletedMember: a deleted account is in no list of members, and its teams and organizations are otherwise unchanged.
func deletedMember(t *testing.T, e *env) {
	a, b := e.addAccount(t), e.addAccount(t)
	team, org := e.addTeam(t, a.ID, b.ID), e.addOrg(t, a.ID, b.ID)
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })

	members, n, err := e.Teams.TeamMembers(t.Context(), team.ID, page.Window{})
	noError(t, err)
	same(t, "members of the team", []identity.Member{{UserID: b.ID, Username: b.Username, AddedAt: epoch}}, members)
	same(t, "their number", 1, n)
	members, n, err = e.Orgs.OrgMembers(t.Context(), org.ID, page.Window{})
	noError(t, err)
	same(t, "members of the organization",
		[]identity.Member{{UserID: b.ID, Username: b.Username, Role: identity.OrgAdmin, AddedAt: epoch}}, members)
	same(t, "their number", 1, n)
	teams, err := e.Teams.TeamsOf(t.Context(), a.ID)
	noError(t, err)
	orgs, err := e.Orgs.OrgsOf(t.Context(), a.ID)
	noError(t, err)
	if len(teams)+len(orgs) > 0 {
		t.Errorf("an account that is gone is in %v and %v", teams, orgs)
	}
	same(t, "rights", state{Users: map[string]identity.UserRights{
		b.ID: {UserID: b.ID, Teams: []string{team.ID}, Admin: []string{org.ID}},
	}}, e.load(t).state)
}
