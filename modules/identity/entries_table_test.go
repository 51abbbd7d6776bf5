package identity_test

import (
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// change is a call of a driving port that has to have exactly one entry.
type change struct {
	method string // as ports/identity declares it
	what   string
	// do makes the call and returns its entry but for the action, and the secret that the caller got.
	do     func(b *bundle, s *scene) (want audit.Entry, secret string, err error)
	action audit.Action
	// denied is the fault of a sign-in that is refused; nil for what succeeds.
	denied func(error) bool
}

// quiet are the methods that record nothing, each with the reason.
func quiet() map[string]string {
	const reads, decides = "reads", "decides"
	const outside = "adapters/sso records what it refuses; the rest is a handshake"
	const owner = "the owner of the object records its change in the same unit"
	return map[string]string{
		"Authenticator.Authenticate": "the last use of a token is a stamp", "Authenticator.Account": reads,
		"Authorizer.Authorize": decides, "Authorizer.Scope": reads,
		"Accounts.Get": reads, "Accounts.ByName": reads, "Accounts.List": reads,
		"Tokens.Get": reads, "Tokens.List": reads, "SignIn.Check": reads, "Self.Me": reads,
		"OwnPreferences.Preferences": reads, "TeamPreferences.Preferences": reads, "TeamPreferences.Shared": reads,
		"SignInLimiter.Begin": "counts in memory", "Provider.Begin": outside, "Provider.Complete": outside,
		"Metadata.Metadata": reads, "ProgramSignIn.Expect": outside, "ProgramSignIn.Return": outside,
		"Teams.Get": reads, "Teams.List": reads, "Teams.Members": reads, "Orgs.Get": reads, "Orgs.List": reads,
		"Orgs.Members": reads,
		"Grants.Get":   reads, "Grants.List": reads, "Objects.Put": owner, "Objects.Remove": owner,
		"Bootstrap.EnsureAdmin": "only an empty install has entries of it: see TestFirstStartIsRecorded",
	}
}

// changes lists every change. Each runs in a scene of its own.
func changes() []change {
	var all []change
	for _, list := range [][]change{accountChanges(), tokenChanges(), signIns(), passwordChanges(), federated(),
		exchanges(), preferenceChanges(), teamChanges(), orgChanges(), grantChanges()} {
		all = append(all, list...)
	}
	return all
}

func object(kind, id, name string) audit.Object { return audit.Object{Kind: kind, ID: id, Name: name} }

func userObject(u identity.User) audit.Object { return object("user", u.ID, u.Username) }

func accountChanges() []change {
	return []change{
		{"Accounts.Create", "whole", func(b *bundle, s *scene) (audit.Entry, string, error) {
			a, err := b.Accounts.Create(s.ctx, identity.NewAccount{Username: "new" + s.tag, Role: identity.Operator,
				Password: secret,
				Profile:  full(), Identities: []identity.Link{link(identity.OIDC, "new"+s.tag)}})
			return audit.Entry{Object: userObject(a.User), Detail: map[string]any{
				"role": "operator", "password_set": true, "profile": true, "identities": 1}}, "", err
		}, audit.UserCreate, nil},
		{"Accounts.Create", "bare", func(b *bundle, s *scene) (audit.Entry, string, error) {
			a, err := b.Accounts.Create(s.ctx, identity.NewAccount{Username: "new" + s.tag, Role: identity.Viewer})
			return audit.Entry{Object: userObject(a.User), Detail: map[string]any{
				"role": "viewer", "password_set": false, "identities": 0}}, "", err
		}, audit.UserCreate, nil},
		{"Accounts.Update", "everything", func(b *bundle, s *scene) (audit.Entry, string, error) {
			name, role, p := "other"+s.tag, identity.Operator, identity.Password("another long password")
			a, err := b.Accounts.Update(s.ctx, s.ann.ID, 1, identity.AccountChange{Username: &name, Role: &role, Password: &p,
				Profile: full(), Identities: &[]identity.Link{link(identity.SAML, s.tag)}})
			return audit.Entry{Object: object("user", s.ann.ID, name), Detail: map[string]any{
					"role": "operator", "former_role": "viewer", "password_set": true, "profile": true, "identities": 1,
					"sessions_ended": 2,
					"changed":        []any{"identities", "password", "profile", "role", "username"}}}, "",
				orWrong(err, a.Revision == 2)
		}, audit.UserUpdate, nil},
		{"Accounts.Update", "what is there already", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Accounts.Update(s.ctx, s.ann.ID, 1, identity.AccountChange{Username: &s.ann.Username, Role: &s.ann.Role})
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{"role": "viewer", "changed": []any{}}},
				"", err
		}, audit.UserUpdate, nil},
		{"Accounts.Update", "a profile", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Accounts.Update(s.ctx, s.ann.ID, 0, identity.AccountChange{Profile: full()})
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{
				"role": "viewer", "changed": []any{"profile"}, "profile": true}}, "", err
		}, audit.UserUpdate, nil},
		{"Accounts.Delete", "with tokens", func(b *bundle, s *scene) (audit.Entry, string, error) {
			err := b.Accounts.Delete(s.ctx, s.ann.ID, 1)
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{
				"role": "viewer", "sessions_ended": 2, "tokens_ended": 1}}, "", err
		}, audit.UserDelete, nil},
	}
}

func tokenChanges() []change {
	return []change{
		{"Tokens.Mint", "for ever", func(b *bundle, s *scene) (audit.Entry, string, error) {
			tok, bearer, err := b.Tokens.Mint(s.ctx, newToken("ci"+s.tag, s.ann.ID, 0))
			return audit.Entry{Object: object("token", tok.ID, "ci"+s.tag), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "api", "parent_id": s.by}}, bearer, err
		}, audit.TokenCreate, nil},
		{"Tokens.Mint", "for an hour, without a name", func(b *bundle, s *scene) (audit.Entry, string, error) {
			tok, bearer, err := b.Tokens.Mint(s.ctx, newToken("", s.ann.ID, time.Hour))
			return audit.Entry{Object: object("token", tok.ID, ""), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "api", "parent_id": s.by, "expires_at": b.instant(time.Hour)}}, bearer, err
		}, audit.TokenCreate, nil},
		{"Tokens.Mint", "with limits", func(b *bundle, s *scene) (audit.Entry, string, error) {
			tok, bearer, err := b.Tokens.Mint(s.ctx, identity.NewToken{Name: "ci", UserID: s.ann.ID,
				Scopes: identity.Scopes{identity.ScopeLaunch, identity.ScopeRead}, Networks: []string{"192.0.2.0/24"}})
			return audit.Entry{Object: object("token", tok.ID, "ci"), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "api", "parent_id": s.by, "scopes": []any{"read", "launch"},
				"networks": []any{"192.0.2.0/24"}}}, bearer, err
		}, audit.TokenCreate, nil},
		{"Tokens.Mint", "with a wrong password", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, bearer, err := b.Tokens.Mint(s.ctx, identity.NewToken{UserID: s.ann.ID, Password: "incorrect horse battery"})
			return audit.Entry{Object: userObject(s.root.User), Outcome: audit.Denied,
				Detail: map[string]any{"reason": "bad_login"}}, bearer, err
		}, audit.TokenCreate, identity.BadLogin.Is},
		{"Tokens.Revoke", "a program's", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: object("token", s.token.ID, s.token.Name), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "api"}}, "", b.Tokens.Revoke(s.ctx, s.token.ID)
		}, audit.TokenRevoke, nil},
		{"Tokens.Revoke", "with a token that it made", func(b *bundle, s *scene) (audit.Entry, string, error) {
			if _, _, err := b.Tokens.Mint(b.as(s.ann.User, s.token.ID), newToken("child", "", 0)); err != nil {
				return audit.Entry{}, "", err
			}
			b.trail.Take()
			return audit.Entry{Object: object("token", s.token.ID, s.token.Name), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "api", "tokens_ended": 1}}, "", b.Tokens.Revoke(s.ctx, s.token.ID)
		}, audit.TokenRevoke, nil},
		{"Tokens.Revoke", "a session", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: object("token", s.session.Token.ID, "session"), Detail: map[string]any{
				"user_id": s.ann.ID, "kind": "session"}}, "", b.Tokens.Revoke(s.ctx, s.session.Token.ID)
		}, audit.TokenRevoke, nil},
	}
}

func signIns() []change {
	refused := func(method string) map[string]any { return map[string]any{"method": method, "reason": "bad_login"} }
	return []change{
		{"SignIn.Login", "by password", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := b.SignIn.Login(s.out, s.ann.Username, secret)
			return audit.Entry{Object: userObject(s.ann.User), By: s.self(), Detail: map[string]any{
				"method": "password", "token_id": made.Token.ID, "expires_at": b.instant(12 * time.Hour)}}, made.Secret, err
		}, audit.AuthLogin, nil},
		{"SignIn.Login", "by a wrong password", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.SignIn.Login(s.out, s.ann.Username, "incorrect horse battery")
			return audit.Entry{Object: userObject(s.ann.User), Outcome: audit.Denied, Detail: refused("password")}, "", err
		}, audit.AuthLogin, identity.BadLogin.Is},
		{"SignIn.Login", "to an account without a password", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.SignIn.Login(s.out, s.bare.Username, secret)
			return audit.Entry{Object: userObject(s.bare.User), Outcome: audit.Denied, Detail: refused("password")}, "", err
		}, audit.AuthLogin, identity.BadLogin.Is},
		{"SignIn.Login", "of nobody", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.SignIn.Login(s.out, "nobody"+s.tag, secret)
			return audit.Entry{Outcome: audit.Denied, Detail: refused("password")}, "", err
		}, audit.AuthLogin, identity.BadLogin.Is},
		{"SignIn.Login", "of what is no name", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.SignIn.Login(s.out, "a password, typed too early", secret)
			return audit.Entry{Outcome: audit.Denied, Detail: refused("password")}, "", err
		}, audit.AuthLogin, identity.BadLogin.Is},
		{"LocalSignIn.SignInLocally", "by a link", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := b.Local.SignInLocally(s.out, s.ann.Username)
			return audit.Entry{Object: userObject(s.ann.User), By: s.self(), Detail: map[string]any{
				"method": "link", "token_id": made.Token.ID, "expires_at": b.instant(12 * time.Hour)}}, made.Secret, err
		}, audit.AuthLogin, nil},
		{"SignIn.Logout", "of a session", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: userObject(s.ann.User),
					Detail: map[string]any{"token_id": s.session.Token.ID, "ended": true}}, "",
				b.SignIn.Logout(b.as(s.ann.User, s.session.Token.ID))
		}, audit.AuthLogout, nil},
		{"SignIn.Logout", "of what is gone", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{"token_id": "tok_gone", "ended": false}},
				"",
				b.SignIn.Logout(b.as(s.ann.User, "tok_gone"))
		}, audit.AuthLogout, nil},
	}
}

func passwordChanges() []change {
	const next = identity.Password("another long password")
	return []change{
		{"SignIn.ChangePassword", "the next one", func(b *bundle, s *scene) (audit.Entry, string, error) {
			err := b.SignIn.ChangePassword(b.as(s.ann.User, s.session.Token.ID), secret, next)
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{
				"password_set": true, "first": false, "sessions_ended": 1}}, "", err
		}, audit.UserPassword, nil},
		{"SignIn.ChangePassword", "the first one", func(b *bundle, s *scene) (audit.Entry, string, error) {
			err := b.SignIn.ChangePassword(b.as(s.bare.User, s.bares.ID), "", next)
			return audit.Entry{Object: userObject(s.bare.User), Detail: map[string]any{
				"password_set": true, "first": true, "sessions_ended": 0}}, "", err
		}, audit.UserPassword, nil},
		{"SignIn.ChangePassword", "by a wrong one", func(b *bundle, s *scene) (audit.Entry, string, error) {
			err := b.SignIn.ChangePassword(b.as(s.ann.User, ""), "incorrect horse battery", next)
			return audit.Entry{Object: userObject(s.ann.User), Outcome: audit.Denied,
				Detail: map[string]any{"reason": "bad_login"}}, "", err
		}, audit.UserPassword, identity.BadLogin.Is},
	}
}

func federated() []change {
	admit := func(what string, e func(s *scene) identity.External,
		want func(b *bundle, s *scene, made identity.Session) audit.Entry,
		denied func(error) bool) change {
		return change{"Federation.Admit", what, func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := b.Federation.Admit(s.out, e(s))
			return want(b, s, made), made.Secret, err
		}, audit.AuthLogin, denied}
	}
	signedIn := func(b *bundle, made identity.Session, more map[string]any) audit.Entry {
		detail := map[string]any{"method": "oidc", "token_id": made.Token.ID, "expires_at": b.instant(12 * time.Hour)}
		for k, v := range more {
			detail[k] = v
		}
		return audit.Entry{Object: userObject(made.User), By: selfOf(made.User), Detail: detail}
	}
	refused := func(method, reason string) audit.Entry {
		return audit.Entry{Outcome: audit.Denied, Detail: map[string]any{"method": method, "reason": reason}}
	}
	of := func(groups ...string) func(s *scene) identity.External {
		return func(s *scene) identity.External { return external(identity.OIDC, "known"+s.tag, "whoever", groups...) }
	}
	unknown := func(p identity.Protocol, groups ...string) func(s *scene) identity.External {
		return func(s *scene) identity.External { return external(p, "unknown"+s.tag, "unknown"+s.tag, groups...) }
	}
	return []change{
		admit("of a newcomer", unknown(identity.OIDC, "ops"), func(b *bundle, _ *scene, made identity.Session) audit.Entry {
			return signedIn(b, made, map[string]any{"account_created": true, "role": "operator"})
		}, nil),
		admit("of who is known", of("ops"), func(b *bundle, _ *scene, made identity.Session) audit.Entry {
			return signedIn(b, made, nil)
		}, nil),
		admit("with another role", of("all"), func(b *bundle, _ *scene, made identity.Session) audit.Entry {
			return signedIn(b, made, map[string]any{"role": "viewer", "former_role": "operator", "sessions_ended": 1})
		}, nil),
		admit("without a role any more", of("nothing"), func(_ *bundle, s *scene, _ identity.Session) audit.Entry {
			e := refused("oidc", "no_role")
			e.Object = userObject(s.eve.User)
			e.Detail["sessions_ended"] = 1
			return e
		}, identity.NoRole.Is),
		admit("of a stranger", unknown(identity.OIDC, "nothing"), func(*bundle, *scene, identity.Session) audit.Entry {
			return refused("oidc", "no_role")
		}, identity.NoRole.Is),
		admit("by another's name", func(s *scene) identity.External {
			return external(identity.SAML, "unknown"+s.tag, s.ann.Username)
		}, func(*bundle, *scene, identity.Session) audit.Entry {
			return refused("saml", "name_taken")
		}, identity.NameTaken.Is),
		admit("of an unknown kind", unknown("canary"), func(*bundle, *scene, identity.Session) audit.Entry {
			return refused("unknown", "bad_sign_in")
		}, identity.BadSignIn.Is),
	}
}

func teamChanges() []change {
	team := func(s *scene) audit.Object { return object("team", s.team.ID, s.team.Name) }
	return []change{
		{"Teams.Create", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := b.Teams.Create(s.ctx, " new "+s.tag)
			return audit.Entry{Object: object("team", made.ID, "new "+s.tag), Detail: map[string]any{"members": 0}}, "", err
		}, audit.TeamCreate, nil},
		{"Teams.Delete", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: team(s), Detail: map[string]any{"members": 1}}, "", b.Teams.Delete(s.ctx, s.team.ID)
		}, audit.TeamDelete, nil},
		{"Teams.AddMember", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Teams.AddMember(s.ctx, s.team.ID, s.bare.ID)
			return audit.Entry{Object: team(s), Detail: map[string]any{"user_id": s.bare.ID}}, "", err
		}, audit.TeamMemberAdd, nil},
		{"Teams.AddMember", "again", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Teams.AddMember(s.ctx, s.team.ID, s.ann.ID)
			return audit.Entry{Object: team(s), Detail: map[string]any{"user_id": s.ann.ID}}, "", err
		}, audit.TeamMemberAdd, nil},
		{"Teams.RemoveMember", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: team(s), Detail: map[string]any{"user_id": s.ann.ID}}, "",
				b.Teams.RemoveMember(s.ctx, s.team.ID, s.ann.ID)
		}, audit.TeamMemberDrop, nil},
	}
}

func orgChanges() []change {
	org := func(s *scene) audit.Object { return object("org", s.org.ID, s.org.Name) }
	return []change{
		{"Orgs.Create", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := b.Orgs.Create(s.ctx, " new "+s.tag)
			return audit.Entry{Object: object("org", made.ID, "new "+s.tag), Detail: map[string]any{"members": 0}}, "", err
		}, audit.OrgCreate, nil},
		{"Orgs.Delete", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: org(s), Detail: map[string]any{"members": 1}}, "", b.Orgs.Delete(s.ctx, s.org.ID)
		}, audit.OrgDelete, nil},
		{"Orgs.PutMember", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Orgs.PutMember(s.ctx, s.org.ID, s.bare.ID, identity.OrgAdmin)
			return audit.Entry{Object: org(s), Detail: map[string]any{"user_id": s.bare.ID, "role": "admin"}}, "", err
		}, audit.OrgMemberSet, nil},
		{"Orgs.RemoveMember", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: org(s), Detail: map[string]any{"user_id": s.ann.ID}}, "",
				b.Orgs.RemoveMember(s.ctx, s.org.ID, s.ann.ID)
		}, audit.OrgMemberDrop, nil},
	}
}

func grantChanges() []change {
	detail := func(s *scene, level access.Level) map[string]any {
		return map[string]any{"subject": "user:" + s.ann.ID, "object": "queue:q" + s.tag, "level": string(level)}
	}
	return []change{
		{"Grants.Create", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			g, first, err := b.Grants.Create(s.ctx, identity.UserSubject(s.ann.ID), "queue:q"+s.tag, access.Manage)
			want := detail(s, access.Manage)
			want["first"] = false
			return audit.Entry{Object: object("grant", g.ID, ""), Detail: want}, "", orWrong(err, !first)
		}, audit.GrantCreate, nil},
		{"Grants.Delete", "", func(b *bundle, s *scene) (audit.Entry, string, error) {
			return audit.Entry{Object: object("grant", s.grant.ID, ""), Detail: detail(s, access.Use)}, "",
				b.Grants.Delete(s.ctx, s.grant.ID)
		}, audit.GrantDelete, nil},
	}
}

// orWrong is an error of its own where a call succeeds with another answer than it should.
func orWrong(err error, right bool) error {
	if err == nil && !right {
		return fmt.Errorf("another answer")
	}
	return err
}
