package identity_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func full() identity.Profile {
	return identity.Profile{FullName: "Ann Example", Email: "ann@example.test", Phone: "+1 555 0100", Title: "SRE",
		Links: []string{"https://example.test/ann", "HTTP://EXAMPLE.TEST:8080"}, Notes: "line\nline\ttab"}
}

func TestAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		link := link(identity.OIDC, "42")
		made, err := b.Accounts.Create(t.Context(), identity.NewAccount{
			Username: "ann", Role: identity.Operator, Password: secret, Profile: full(), Identities: []identity.Link{link}})
		if err != nil || made.Revision != 1 || !made.HasPassword {
			t.Fatalf("%v %v", made.ID, err)
		}
		got, err := b.Accounts.Get(t.Context(), made.ID)
		if diff := cmp.Diff(made, got); diff != "" || err != nil {
			t.Errorf("stored otherwise: %v %s", err, diff)
		}
		if named, err := b.Accounts.ByName(t.Context(), "ann"); err != nil || !cmp.Equal(named, got) {
			t.Errorf("by name: %v", err)
		}
		for _, name := range []string{"Ann", "", "a\x00"} {
			if _, err := b.Accounts.ByName(t.Context(), name); !identity.UserNotFound.Is(err) {
				t.Errorf("%q: %v", name, err)
			}
		}
		_, err = b.Accounts.Create(t.Context(), identity.NewAccount{Username: "ann", Role: identity.Viewer})
		if !identity.NameTaken.Is(err) || field(err) != "username" {
			t.Errorf("the name again: %v", err)
		}
		_, err = b.Accounts.Create(t.Context(),
			identity.NewAccount{Username: "bob", Role: identity.Viewer, Identities: []identity.Link{link}})
		if !identity.LinkTaken.Is(err) || field(err) != "identities" {
			t.Errorf("the identity again: %v", err)
		}
		if list, n, err := b.Accounts.List(t.Context(), page.Window{}); err != nil || n != 1 || len(list) != 1 {
			t.Errorf("a refused account was stored: %d %v", n, err)
		}
		name := "anna"
		changed, err := b.Accounts.Update(t.Context(), made.ID, 1, identity.AccountChange{
			Username: &name, Profile: identity.Profile{Title: "CTO"}, Identities: &[]identity.Link{}})
		if err != nil || changed.Revision != 2 || changed.Profile.FullName != "" || changed.Username != name ||
			!changed.HasPassword {
			t.Errorf("%v", err)
		}
		got, err = b.Accounts.Get(t.Context(), made.ID)
		if diff := cmp.Diff(changed, got, cmp.Comparer(func(a, b []identity.Link) bool { return slices.Equal(a, b) }),
			cmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) })); diff != "" || err != nil {
			t.Errorf("changed otherwise: %v %s", err, diff)
		}
	})
}

func TestRevisions(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("root", identity.Admin)
		u := b.account("ann", identity.Viewer)
		if _, err := b.Accounts.Update(t.Context(), u.ID, 1, identity.AccountChange{}); err != nil {
			t.Fatal(err)
		}
		for _, revision := range []int64{1, 3, -1} {
			if _, err := b.Accounts.Update(t.Context(), u.ID, revision,
				identity.AccountChange{}); !identity.RevisionChanged.Is(err) {
				t.Errorf("changing revision %d: %v", revision, err)
			}
			if err := b.Accounts.Delete(t.Context(), u.ID, revision); !identity.RevisionChanged.Is(err) {
				t.Errorf("deleting revision %d: %v", revision, err)
			}
		}
		if _, err := b.Accounts.Update(t.Context(), u.ID, 0, identity.AccountChange{}); err != nil {
			t.Errorf("any revision: %v", err)
		}
		if err := b.Accounts.Delete(t.Context(), u.ID, 3); err != nil {
			t.Errorf("the right revision: %v", err)
		}
		for _, id := range []string{u.ID, "usr_none", ""} {
			_, err := b.Accounts.Update(t.Context(), id, 0, identity.AccountChange{})
			if err2 := b.Accounts.Delete(t.Context(), id, 0); !identity.UserNotFound.Is(err) || !identity.UserNotFound.Is(err2) {
				t.Errorf("%q: %v, %v", id, err, err2)
			}
		}
	})
}

// TestRefusedAccounts names the offending member, and nothing of what it was.
func TestRefusedAccounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		good := identity.NewAccount{Username: "bob", Role: identity.Viewer}
		for name, c := range map[string]struct {
			field string
			edit  func(n *identity.NewAccount)
		}{
			"no name":        {"username", func(n *identity.NewAccount) { n.Username = "" }},
			"space":          {"username", func(n *identity.NewAccount) { n.Username = "leak leak" }},
			"slash":          {"username", func(n *identity.NewAccount) { n.Username = "leak/leak" }},
			"like a flag":    {"username", func(n *identity.NewAccount) { n.Username = "-leak" }},
			"long name":      {"username", func(n *identity.NewAccount) { n.Username = "leak" + strings.Repeat("é", 61) }},
			"filler":         {"username", func(n *identity.NewAccount) { n.Username = "leak\u3164" }},
			"broken name":    {"username", func(n *identity.NewAccount) { n.Username = "leak\xff" }},
			"no role":        {"role", func(n *identity.NewAccount) { n.Role = "" }},
			"another role":   {"role", func(n *identity.NewAccount) { n.Role = "leak" }},
			"short password": {"password", func(n *identity.NewAccount) { n.Password = "leakleakéé1" }},
			"long password": {"password", func(n *identity.NewAccount) {
				n.Password = identity.Password("leak" + strings.Repeat("x", 1021))
			}},
			"long line": {"full_name", func(n *identity.NewAccount) {
				n.Profile.FullName = "leak" + strings.Repeat("é", 317)
			}},
			"line break":     {"email", func(n *identity.NewAccount) { n.Profile.Email = "leak\n" }},
			"line separator": {"phone", func(n *identity.NewAccount) { n.Profile.Phone = "leak\u2028" }},
			"NUL":            {"title", func(n *identity.NewAccount) { n.Profile.Title = "leak\x00" }},
			"long notes":     {"notes", func(n *identity.NewAccount) { n.Profile.Notes = "leak" + strings.Repeat("é", 1997) }},
			"bell":           {"notes", func(n *identity.NewAccount) { n.Profile.Notes = "leak\a" }},
			"nine links": {"links", func(n *identity.NewAccount) {
				n.Profile.Links = slices.Repeat([]string{"https://leak.test"}, 9)
			}},
			"script":          {"links[1]", links("https://a.test", "javascript:leak")},
			"no scheme":       {"links[0]", links("leak.test")},
			"no host":         {"links[2]", links("https://a.test", "http://a.test", "https:///leak")},
			"only a port":     {"links[0]", links("https://:80/leak")},
			"no slashes":      {"links[0]", links("https:leak.test")},
			"ftp":             {"links[0]", links("ftp://leak.test")},
			"user":            {"links[0]", links("https://leak:leak@a.test")},
			"does not parse":  {"links[0]", links("https://leak.test/%zz")},
			"space in a link": {"links[0]", links("https://leak.test/a b")},
			"empty link":      {"links[0]", links("")},
			"long link":       {"links[0]", links("https://leak.test/" + strings.Repeat("x", 2000))},
			"no protocol":     {"identities[0].protocol", tied(identity.Link{Issuer: "leak", Subject: "leak"})},
			"another one": {"identities[0].protocol",
				tied(identity.Link{Protocol: "leak", Issuer: "leak", Subject: "leak"})},
			"no issuer": {"identities[0].issuer", tied(identity.Link{Protocol: identity.OIDC, Subject: "leak"})},
			"broken issuer": {"identities[0].issuer",
				tied(identity.Link{Protocol: identity.OIDC, Issuer: "\xffleak", Subject: "x"})},
			"no subject": {"identities[0].subject", tied(identity.Link{Protocol: identity.OIDC, Issuer: "leak"})},
			"one twice":  {"identities[1]", tied(link(identity.OIDC, "leak"), link(identity.OIDC, "leak"))},
			"a long one": {"identities[1]", tied(link(identity.OIDC, "x"), longLink(1))},
		} {
			n := good
			c.edit(&n)
			_, err := b.Accounts.Create(t.Context(), n)
			refusedOne(t, name, c.field, err)
			change := identity.AccountChange{Username: &n.Username, Role: &n.Role, Profile: n.Profile, Identities: &n.Identities}
			if n.Password != "" {
				change.Password = &n.Password
			}
			_, err = b.Accounts.Update(t.Context(), u.ID, 0, change)
			refusedOne(t, name+", of a change", c.field, err)
		}
		empty := identity.Password("")
		_, err := b.Accounts.Update(t.Context(), u.ID, 0, identity.AccountChange{Password: &empty})
		refusedOne(t, "taking the password away", "password", err)
	})
}

func tied(list ...identity.Link) func(*identity.NewAccount) {
	return func(n *identity.NewAccount) { n.Identities = list }
}

// longLink is of many bytes and few characters; without more it is as long as one may be.
func longLink(more int) identity.Link {
	l := identity.Link{Protocol: identity.SAML, Issuer: strings.Repeat("漢", 100)}
	budget := identity.MaxLink - len(l.Issuer)
	l.Subject = strings.Repeat("\U0001F600", budget/4) + strings.Repeat("x", budget%4+more)
	return l
}

// TestLongestIdentity keeps and finds one of as many bytes as there may be.
func TestLongestIdentity(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		n := identity.NewAccount{Username: "ann", Role: identity.Operator, Identities: []identity.Link{longLink(0)}}
		made, err := b.Accounts.Create(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Federation.Admit(b.from("192.0.2.1"), identity.External{Link: longLink(0), Username: "somebody"})
		if err != nil || s.User != made.User {
			t.Errorf("%+v %v", s.User, err)
		}
		if _, err := b.Federation.Admit(b.from("192.0.2.1"),
			identity.External{Link: longLink(1), Username: "bob"}); !identity.BadSignIn.Is(err) {
			t.Errorf("one byte more: %v", err)
		}
	})
}

func links(list ...string) func(*identity.NewAccount) {
	return func(n *identity.NewAccount) { n.Profile.Links = list }
}

func refusedOne(t *testing.T, name, at string, err error) {
	t.Helper()
	f := asFault(err)
	if !invalid(err) || len(f.Fields) != 1 || f.Fields[0].Location != at {
		t.Errorf("%s: %v, naming %q and not %q", name, err, field(err), at)
		return
	}
	if f.Cause != nil || strings.Contains(f.Error(), "leak") || strings.Contains(f.Fields[0].Message, "leak") {
		t.Errorf("%s: the fault tells the value: %v", name, errors.Unwrap(err))
	}
}

// TestBounds takes the longest that is allowed, in characters and not in bytes.
func TestBounds(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		line := strings.Repeat("é", 320)
		n := identity.NewAccount{Username: strings.Repeat("é", 64), Role: identity.Viewer,
			Password: identity.Password(strings.Repeat("é", 1024)),
			Profile: identity.Profile{FullName: line, Email: line, Phone: line, Title: line, Notes: strings.Repeat("é", 2000),
				Links: slices.Repeat([]string{"https://a.test/" + strings.Repeat("x", 1985)}, 8)}}
		if _, err := b.Accounts.Create(t.Context(), n); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"a", "_svc", "ann.b+c@example.test", "Ünïcode", "日本語", "9"} {
			if _, err := b.Accounts.Create(t.Context(),
				identity.NewAccount{Username: name, Role: identity.Viewer, Password: "twelve chars"}); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

// TestHasherThatFails: a hasher that fails leaves nothing behind.
func TestHasherThatFails(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		broken := errors.New("no memory")
		b.hasher.fail.Store(&broken)
		next, role := identity.Password("another long password"), identity.Operator
		_, err := b.Accounts.Create(t.Context(), identity.NewAccount{Username: "bob", Role: role, Password: next})
		_, err2 := b.Accounts.Update(t.Context(), u.ID, 0, identity.AccountChange{Password: &next, Role: &role})
		if !errors.Is(err, broken) || !errors.Is(err2, broken) {
			t.Errorf("%v, %v", err, err2)
		}
		list, n, err := b.Accounts.List(t.Context(), page.Window{})
		if err != nil || n != 1 || list[0].Role != identity.Viewer || list[0].Revision != 1 {
			t.Errorf("%d accounts, %v", n, err)
		}
	})
}
