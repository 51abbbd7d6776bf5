package identity_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const issuer = "https://idp.example.test"

func rules() module.Config {
	return module.Config{Rules: map[identity.Protocol]module.RoleRule{
		identity.OIDC: {Groups: map[string]identity.Role{"ops": identity.Operator, "root": identity.Admin,
			"all": identity.Viewer}},
		identity.SAML: {Default: identity.Viewer},
	}}
}

func link(p identity.Protocol, subject string) identity.Link {
	return identity.Link{Protocol: p, Issuer: issuer, Subject: subject}
}

func external(p identity.Protocol, subject, name string, groups ...string) identity.External {
	return identity.External{Link: link(p, subject), Username: name, Groups: groups}
}

func TestNewcomer(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		e := external("oidc", "1", "ann@example.test", "nobody", "all", "root", "ops")
		e.FullName, e.Email = "Ann Example", strings.Repeat("x", 321)
		s, err := b.Federation.Admit(b.from("192.0.2.1"), e)
		if err != nil || s.User.Role != identity.Admin || s.User.Username != "ann@example.test" ||
			s.Token.Kind != identity.SessionToken || s.Token.ExpiresAt.IsZero() || !b.valid(s.Secret) {
			t.Fatalf("%+v %v", s.User, err)
		}
		a, err := b.Accounts.Get(t.Context(), s.User.ID)
		if err != nil || a.HasPassword || a.Profile.FullName != "Ann Example" || a.Profile.Email != "" ||
			len(a.Identities) != 1 || a.Identities[0] != e.Link {
			t.Errorf("%v %+v", err, a.Identities)
		}
		b.clock.move(time.Minute)
		e.Username = "somebody else by now"
		again, err := b.Federation.Admit(b.from("192.0.2.1"), e)
		if err != nil || again.User != s.User || again.Secret == s.Secret {
			t.Errorf("again: %+v %v", again.User, err)
		}
		if now, err := b.Accounts.Get(t.Context(), s.User.ID); err != nil || now.ConfirmedAt != b.clock.Now() ||
			a.ConfirmedAt != now.ConfirmedAt.Add(-time.Minute) || now.Revision != a.Revision {
			t.Errorf("confirmed at %s, then at %s: %v", a.ConfirmedAt, now.ConfirmedAt, err)
		}
		subjects := 0
		for name, want := range map[string]string{
			`CORP\jdoe`: "CORPjdoe", "  Jörg  Müller ": "JörgMüller", ".@-x": "x", "a\u202eb\x00c": "abc",
			strings.Repeat("y", 100): strings.Repeat("y", 64),
		} {
			subjects++
			s, err := b.Federation.Admit(b.from("192.0.2.1"), external("saml", fmt.Sprint("s", subjects), name))
			if err != nil || s.User.Username != want || s.User.Role != identity.Viewer {
				t.Errorf("%q became %+v, %v", name, s.User, err)
			}
		}
	})
}

func TestRefusedNewcomers(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		b.account("taken", identity.Viewer)
		for name, c := range map[string]struct {
			e    identity.External
			code string
			is   func(error) bool
		}{
			"no group":         {external("oidc", "2", "ann"), "no_role", identity.NoRole.Is},
			"unmapped group":   {external("oidc", "2", "ann", "Ops", "admin"), "no_role", identity.NoRole.Is},
			"unknown way":      {external("ldap", "2", "ann", "ops"), "bad_sign_in", identity.BadSignIn.Is},
			"no way":           {external("", "2", "ann", "ops"), "bad_sign_in", identity.BadSignIn.Is},
			"no name":          {external("saml", "2", ""), "bad_sign_in", identity.BadSignIn.Is},
			"nothing of it":    {external("saml", "2", "@ / \t"), "bad_sign_in", identity.BadSignIn.Is},
			"no subject":       {external("saml", "", "ann"), "bad_sign_in", identity.BadSignIn.Is},
			"subject with NUL": {external("saml", "a\x00", "ann"), "bad_sign_in", identity.BadSignIn.Is},
			"name taken":       {external("saml", "2", "taken"), "name_taken", identity.NameTaken.Is},
			"taken if reduced": {external("saml", "2", " ta/ken"), "name_taken", identity.NameTaken.Is},
		} {
			provider := "provider=" + cmp.Or(string(c.e.Link.Protocol), `""`)
			before := b.log.count("sign-in refused", provider, issuer, "reason="+c.code)
			s, err := b.Federation.Admit(b.from("192.0.2.1"), c.e)
			if !c.is(err) || s.Secret != "" {
				t.Errorf("%s: %+v %v", name, s.User, err)
			}
			if n := b.log.count("sign-in refused", provider, issuer, "reason="+c.code); n != before+1 {
				t.Errorf("%s: %d lines tell of it", name, n-before)
			}
		}
		if _, n, err := b.Accounts.List(t.Context(), page.Window{}); n != 1 || err != nil {
			t.Errorf("%d accounts, %v", n, err)
		}
		if _, n, err := b.Tokens.List(t.Context(), page.Window{}); n != 0 || err != nil {
			t.Errorf("%d tokens, %v", n, err)
		}
	})
}

func TestRoleFollowsGroups(t *testing.T) {
	cfg := rules()
	cfg.Rules[identity.SAML] = module.RoleRule{Groups: map[string]identity.Role{"ops": identity.Operator},
		Default: identity.Viewer}
	onEachEngine(t, cfg, func(t *testing.T, b *bundle) {
		b.account("root", identity.Admin)
		for _, c := range []struct {
			p    identity.Protocol
			name string
			in   []step
		}{
			{identity.OIDC, "ann", []step{{[]string{"ops"}, identity.Operator, true},
				{[]string{"x", "ops"}, identity.Operator, true},
				{[]string{"ops", "root"}, identity.Admin, false}, {[]string{"all"}, identity.Viewer, false}}},
			{identity.SAML, "sam", []step{{nil, identity.Viewer, true}, {[]string{"ops"}, identity.Operator, false},
				{[]string{"root"}, identity.Viewer, false}, {nil, identity.Viewer, true}}},
		} {
			before := ""
			for _, in := range c.in {
				s, err := b.Federation.Admit(b.from("192.0.2.1"), external(c.p, "1", c.name, in.groups...))
				if err != nil || s.User.Role != in.role || !b.valid(s.Secret) || before != "" && b.valid(before) != in.stays {
					t.Errorf("%s %v: %+v %v; the session before lives: %v", c.p, in.groups, s.User, err, !in.stays)
				}
				if a, err := b.Accounts.Get(t.Context(), s.User.ID); err != nil || a.Role != in.role || a.Username != c.name {
					t.Errorf("%s %v: stored %s, %v", c.p, in.groups, a.Role, err)
				}
				before = s.Secret
			}
		}
	})
}

// step is a sign-in with groups, the role that comes of it, and whether the session before stays.
type step struct {
	groups []string
	role   identity.Role
	stays  bool
}

// TestNoRoleAnyMore ends the sessions of an account that is in no mapped group any more, on every server, and keeps its
// record and the tokens that others made for it.
func TestNoRoleAnyMore(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		b.account("root", identity.Admin)
		s, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "ops"))
		if err != nil {
			t.Fatal(err)
		}
		_, api, err := b.Tokens.Mint(t.Context(), newToken("ci", s.User.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		was, err := b.Accounts.Get(t.Context(), s.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "nothing"))
			if !identity.NoRole.Is(err) || got.Secret != "" {
				t.Errorf("out of all groups: %v", err)
			}
			if b.valid(s.Secret) || !b.valid(api) {
				t.Errorf("the session lives: %v, the token for programs: %v", b.valid(s.Secret), b.valid(api))
			}
		}
		if a, err := b.Accounts.Get(t.Context(), s.User.ID); err != nil || a.Role != identity.Operator ||
			a.Revision != was.Revision || a.ConfirmedAt != was.ConfirmedAt {
			t.Errorf("a refusal changes the account: %+v %v", a, err)
		}
		if b.log.count("level=WARN", "no role any more", s.User.ID) != 2 ||
			b.log.count("sign-in refused", "reason=no_role") != 2 {
			t.Errorf("the log tells:\n%s", b.log)
		}
		s, err = b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "all"))
		if err != nil || s.User.Role != identity.Viewer {
			t.Errorf("in a group again: %+v %v", s.User, err)
		}
	})
}

// TestProtocolsAreApart makes two accounts of one subject of one issuer where two protocols vouch for it.
func TestProtocolsAreApart(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		one, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "root"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Federation.Admit(b.from("192.0.2.1"),
			external(identity.SAML, "1", "ann")); !identity.NameTaken.Is(err) {
			t.Errorf("the same words of another protocol: %v", err)
		}
		other, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.SAML, "1", "bob"))
		if err != nil || other.User.ID == one.User.ID || other.User.Role != identity.Viewer {
			t.Errorf("%+v %v", other.User, err)
		}
		again, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "somebody", "root"))
		if err != nil || again.User != one.User {
			t.Errorf("%+v %v", again.User, err)
		}
	})
}

// TestReadOnly lets in who has an account, with the role that is stored, and makes none.
func TestReadOnly(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		b.account("root", identity.Admin)
		was, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "ops"))
		if err != nil {
			t.Fatal(err)
		}
		cfg := rules()
		cfg.ReadOnly = true
		quiet := setup(t, b.d, cfg)
		for _, groups := range [][]string{{"ops"}, {"root"}, {"all"}} {
			s, err := quiet.Federation.Admit(quiet.from("192.0.2.1"), external(identity.OIDC, "1", "ann", groups...))
			if err != nil || s.User != was.User || !quiet.valid(s.Secret) || !quiet.valid(was.Secret) {
				t.Errorf("%v: %+v %v", groups, s.User, err)
			}
		}
		if n := quiet.log.count("level=WARN", "read-only", was.User.ID); n != 2 {
			t.Errorf("%d lines tell that the role stays", n)
		}
		for _, p := range []identity.Protocol{identity.OIDC, identity.SAML} {
			_, err := quiet.Federation.Admit(quiet.from("192.0.2.1"), external(p, "new", "new", "ops"))
			if f := asFault(err); !identity.NotAllowed.Is(err) || !strings.Contains(f.Message, "read-only") {
				t.Errorf("a newcomer: %v", err)
			}
		}
		_, err = quiet.Federation.Admit(quiet.from("192.0.2.1"), external(identity.OIDC, "1", "ann"))
		if !identity.NoRole.Is(err) || b.valid(was.Secret) {
			t.Errorf("out of all groups: %v", err)
		}
		if _, n, err := b.Accounts.List(t.Context(), page.Window{}); n != 2 || err != nil {
			t.Errorf("%d accounts, %v", n, err)
		}
	})
}

// TestGroupsNeverTakeTheLastAdmin keeps the role, says so in the log, and signs in.
func TestGroupsNeverTakeTheLastAdmin(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		s, err := b.Federation.Admit(b.from("192.0.2.1"), external("oidc", "1", "ann", "root"))
		if err != nil {
			t.Fatal(err)
		}
		for _, groups := range [][]string{{"ops"}, {"nothing"}, nil} { // no group at all locks nobody out either
			kept, err := b.Federation.Admit(b.from("192.0.2.1"), external("oidc", "1", "ann", groups...))
			if err != nil || kept.User.Role != identity.Admin || !b.valid(kept.Secret) || !b.valid(s.Secret) {
				t.Errorf("%v: %+v %v", groups, kept.User, err)
			}
		}
		if b.log.count("level=WARN", "only admin", s.User.ID) != 3 {
			t.Errorf("the log tells:\n%s", b.log)
		}
		b.account("second", identity.Admin)
		demoted, err := b.Federation.Admit(b.from("192.0.2.1"), external("oidc", "1", "ann", "ops"))
		if err != nil || demoted.User.Role != identity.Operator || b.admins() != 1 {
			t.Errorf("%+v %v", demoted.User, err)
		}
	})
}

// TestLinkedByAnAdmin signs in to an account that somebody made and tied to an identity before.
func TestLinkedByAnAdmin(t *testing.T) {
	onEachEngine(t, module.Config{}, func(t *testing.T, b *bundle) {
		made, err := b.Accounts.Create(t.Context(), identity.NewAccount{Username: "ann", Role: identity.Operator,
			Identities: []identity.Link{link(identity.OIDC, "1")}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Federation.Admit(b.from("192.0.2.1"), external("oidc", "1", "somebody"))
		if err != nil || s.User != made.User {
			t.Errorf("%+v %v", s.User, err)
		}
		if _, err := b.Federation.Admit(b.from("192.0.2.1"), external("oidc", "2", "ann")); !identity.NoRole.Is(err) {
			t.Errorf("a stranger without any rule: %v", err)
		}
	})
}
