package identitytest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func accountCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an account reads back whole":         accountWhole,
		"a list holds accounts whole":         accountList,
		"a name is taken once":                nameOnce,
		"an identity is taken once":           linkOnce,
		"one name at once":                    nameRace,
		"one identity at once":                linkRace,
		"an update replaces the rest":         updateReplaces,
		"an update fits its revision":         updateRevision,
		"an update takes no name of others":   updateTaken,
		"an identity moves in one unit":       linkMoves,
		"one of many updates wins":            updateRace,
		"passwords live apart":                passwords,
		"a provider confirms an account":      accountConfirmed,
		"what is not there":                   accountMissing,
		"an identity is all of its parts":     linkParts,
		"the longest identity":                linkLongest,
		"a name is free after its account":    nameFree,
		"a deleted account":                   deletedAccount,
		"an account's grants leave no gap":    deletedGrants,
		"every list of a deleted account":     deletedMember,
		"the admins are locked":               adminsLocked,
		"other accounts are not admins":       adminsListed,
		"two admins never leave none":         adminsRace,
		"one of two admins deletes the other": adminsDelete,
	}
}

// whole sets every field of an account to a value that is hard to store.
func whole(a *identity.Account) {
	a.Username, a.Role = odd, identity.Admin
	a.CreatedAt, a.UpdatedAt = at(time.Microsecond).In(elsewhere), at(3*time.Microsecond).In(elsewhere)
	a.Revision = 1
	a.Profile = identity.Profile{
		FullName: "Ada " + odd, Email: "ada@example.org", Phone: "+44 (0)20 7946 0000", Title: "'; DROP TABLE users; --",
		Links: []string{"https://b.example/?q=%22", "https://a.example", "https://b.example/?q=%22"}, Notes: odd + odd,
	}
	a.Identities = []identity.Link{
		{Protocol: identity.SAML, Issuer: odd, Subject: odd}, {Protocol: identity.OIDC, Issuer: odd, Subject: odd},
		{Protocol: identity.OIDC, Issuer: odd, Subject: "b"}, {Protocol: identity.OIDC, Issuer: "b", Subject: odd},
	}
}

func accountWhole(t *testing.T, e *env) {
	for _, c := range []struct {
		name, hash string
		edit       func(*identity.Account)
	}{
		{"plain", "", func(*identity.Account) {}},
		{"empty lists", "", func(a *identity.Account) { a.Profile.Links, a.Identities = []string{}, []identity.Link{} }},
		{"whole", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", whole},
		{"one empty line", "", func(a *identity.Account) { a.Profile.Links = []string{""} }},
	} {
		want := e.account(c.edit)
		e.must(t, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, want, c.hash) })
		want.HasPassword = c.hash != ""
		same(t, c.name, want, e.getAccount(t, want.ID))
		b, err := e.Callers.Caller(t.Context(), want.ID, "")
		noError(t, err)
		same(t, c.name+", as who calls", identity.Bearer{User: want.User, Version: b.Version}, b)
		u, hash, err := e.Callers.UserByName(t.Context(), want.Username)
		noError(t, err)
		same(t, c.name+", by name", want.User, u)
		same(t, c.name+", its hash", c.hash, hash)
		for _, l := range want.Identities {
			u, err := e.Callers.UserByLink(t.Context(), l)
			noError(t, err)
			same(t, c.name+", by identity", want.User, u)
		}
	}
}

func accountList(t *testing.T, e *env) {
	n, err := e.Accounts.CountAccounts(t.Context())
	noError(t, err)
	same(t, "accounts of a fresh store", 0, n)
	list, n, err := e.Accounts.ListAccounts(t.Context(), page.Window{})
	noError(t, err)
	if len(list) != 0 || n != 0 {
		t.Errorf("a fresh store lists %d of %d accounts", len(list), n)
	}
	second := e.account(whole, named("beta"))
	e.must(t, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, second, "hash") })
	second.HasPassword = true
	want := []identity.Account{e.addAccount(t, named("Zeta")),
		e.addAccount(t, named("alpha"), linked(link("1"), link("2"))), second,
		e.addAccount(t, named("gamma"))}
	list, n, err = e.Accounts.ListAccounts(t.Context(), page.Window{})
	noError(t, err)
	same(t, "accounts", want, list)
	same(t, "total", len(want), n)
	n, err = e.Accounts.CountAccounts(t.Context())
	noError(t, err)
	same(t, "count", len(want), n)
}

func nameOnce(t *testing.T, e *env) {
	first := e.addAccount(t, named("ada"))
	e.refused(t, identity.NameTaken, func(ctx context.Context) error {
		return e.Accounts.InsertAccount(ctx, e.account(named("ada")), "")
	})
	if err := e.do(t, func(ctx context.Context) error {
		return e.Accounts.InsertAccount(ctx, first, "")
	}); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same account again: %v", err)
	}
	n, err := e.Accounts.CountAccounts(t.Context())
	noError(t, err)
	same(t, "accounts", 1, n)
}

func linkOnce(t *testing.T, e *env) {
	first := e.addAccount(t, linked(link("a"), link("b")))
	second := e.account(linked(link("c"), link("b")))
	e.refused(t, identity.LinkTaken, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, second, "") })
	_, err := e.Accounts.AccountByID(t.Context(), second.ID)
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.UserByLink(t.Context(), link("c"))
	wantFault(t, err, identity.UserNotFound)
	same(t, "the first", first, e.getAccount(t, first.ID))
}

func nameRace(t *testing.T, e *env) {
	won := wins(t, 16, identity.NameTaken, func(int) error {
		a := e.account(named("admin"))
		return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, a, "") })
	})
	same(t, "winners", int64(1), won)
}

func linkRace(t *testing.T, e *env) {
	won := wins(t, 16, identity.LinkTaken, func(int) error {
		a := e.account(linked(link("one")))
		return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, a, "") })
	})
	same(t, "winners", int64(1), won)
	n, err := e.Accounts.CountAccounts(t.Context())
	noError(t, err)
	same(t, "accounts", 1, n)
}

func accountMissing(t *testing.T, e *env) {
	e.addAccount(t)
	ctx := t.Context()
	_, err := e.Accounts.AccountByID(ctx, "usr_none")
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.Caller(ctx, "usr_none", "")
	wantFault(t, err, identity.UserNotFound)
	_, _, err = e.Callers.UserByName(ctx, "nobody")
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.UserByLink(ctx, link("nobody"))
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.TokenByHash(ctx, [32]byte{1})
	wantFault(t, err, identity.TokenNotFound)
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error {
		return e.Accounts.UpdateAccount(ctx, e.account())
	})
	for _, same := range []bool{true, false} {
		e.refused(t, identity.UserNotFound, func(ctx context.Context) error {
			return e.Accounts.SetPassword(ctx, "usr_none", "hash", epoch, same)
		})
	}
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error {
		return e.Accounts.DeleteAccount(ctx, "usr_none")
	})
}

func linkParts(t *testing.T, e *env) {
	of := func(p identity.Protocol, issuer, subject string) identity.Link {
		return identity.Link{Protocol: p, Issuer: issuer, Subject: subject}
	}
	for _, l := range []identity.Link{
		of(identity.OIDC, "a", "b"), of(identity.SAML, "a", "b"), of(identity.OIDC, "b", "a"), of(identity.OIDC, "a", "a"),
		of(identity.SAML, "c", "c"),
	} {
		want := e.addAccount(t, linked(l))
		got, err := e.Callers.UserByLink(t.Context(), l)
		noError(t, err)
		same(t, "the account of an identity", want.User, got)
	}
	for _, l := range []identity.Link{
		of(identity.OIDC, "b", "b"), of(identity.SAML, "b", "a"), of(identity.OIDC, "c", "c"), of("", "a", "b"),
		of("OIDC", "a", "b"),
		of(identity.OIDC, "a", ""), of(identity.OIDC, "", "a"), {},
	} {
		_, err := e.Callers.UserByLink(t.Context(), l)
		wantFault(t, err, identity.UserNotFound)
	}
}

// linkLongest: the store accepts identities of identity.MaxLink bytes, even if they consist of multi-byte characters.
func linkLongest(t *testing.T, e *env) {
	for _, rune := range []string{"x", "ü", "漢", "\U0001F600"} {
		fill := func(n int) string { return strings.Repeat(rune, n/len(rune)) + strings.Repeat("-", n%len(rune)) }
		for _, issuer := range []int{1, identity.MaxLink / 3, identity.MaxLink - 4} {
			l := identity.Link{Protocol: identity.SAML, Issuer: fill(issuer), Subject: fill(identity.MaxLink - issuer)}
			want := e.addAccount(t, linked(l))
			got, err := e.Callers.UserByLink(t.Context(), l)
			noError(t, err)
			same(t, "the account of a long identity", want.User, got)
			same(t, "a long identity", want, e.getAccount(t, want.ID))
		}
	}
}

func passwords(t *testing.T, e *env) {
	hash := func(name string) string {
		t.Helper()
		_, hash, err := e.Callers.UserByName(t.Context(), name)
		noError(t, err)
		return hash
	}
	set := func(a identity.Account, hash string, when time.Time, same bool) {
		t.Helper()
		e.must(t, func(ctx context.Context) error { return e.Accounts.SetPassword(ctx, a.ID, hash, when, same) })
	}
	a, other := e.addAccount(t, whole, named("ada")), e.addAccount(t, named("bob"))
	same(t, "no password", "", hash("ada"))

	set(a, "first", at(time.Hour), false)
	a.HasPassword, a.Revision, a.UpdatedAt = true, 2, at(time.Hour)
	same(t, "the hash", "first", hash("ada"))
	same(t, "a new password counts as a change", a, e.getAccount(t, a.ID))
	set(a, "first, made anew", at(2*time.Hour), true)
	same(t, "the hash made anew", "first, made anew", hash("ada"))
	same(t, "the same password is no change", a, e.getAccount(t, a.ID))
	stale := a
	e.refused(t, identity.RevisionChanged, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, stale) })

	a.Revision, a.HasPassword, a.Profile = 3, false, identity.Profile{}
	e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, a) })
	a.HasPassword = true
	same(t, "an update keeps the hash", "first, made anew", hash("ada"))
	same(t, "an update keeps the password", a, e.getAccount(t, a.ID))

	set(a, "second", at(3*time.Hour), true)
	same(t, "the next hash", "second", hash("ada"))
	set(a, "", at(4*time.Hour), false)
	a.HasPassword, a.Revision, a.UpdatedAt = false, 4, at(4*time.Hour)
	same(t, "no hash any more", "", hash("ada"))
	same(t, "no password any more", a, e.getAccount(t, a.ID))
	same(t, "another account", other, e.getAccount(t, other.ID))
	same(t, "another account's hash", "", hash("bob"))
}
