package identity_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

func TestChangePassword(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		other := b.account("bob", identity.Viewer)
		mine, elsewhere, bobs := b.login("ann", secret), b.login("ann", secret), b.login("bob", secret)
		_, api, err := b.Tokens.Mint(t.Context(), newToken("ci", u.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, next := b.as(u.User, mine.Token.ID), identity.Password("another long password")
		if err := b.SignIn.ChangePassword(ctx, secret, "short"); !invalid(err) || field(err) != "new" {
			t.Errorf("a short one: %v", err)
		}
		for _, wrong := range []identity.Password{"incorrect horse battery", ""} {
			if err := b.SignIn.ChangePassword(ctx, wrong, next); !identity.BadLogin.Is(err) {
				t.Errorf("with a wrong one: %v", err)
			}
		}
		if err := b.SignIn.ChangePassword(t.Context(), secret, next); !identity.NotAllowed.Is(err) {
			t.Errorf("nobody: %v", err)
		}
		b.clock.move(time.Second)
		if err := b.SignIn.ChangePassword(ctx, secret, next); err != nil {
			t.Fatal(err)
		}
		if a, err := b.Accounts.Get(t.Context(), u.ID); err != nil || a.Revision != 2 || !a.UpdatedAt.Equal(b.clock.Now()) {
			t.Errorf("a change of the password is no change of the account: %+v %v", a, err)
		}
		if _, err := b.Accounts.Update(t.Context(), u.ID, 1, identity.AccountChange{}); !identity.RevisionChanged.Is(err) {
			t.Errorf("whoever read the account before: %v", err)
		}
		if !b.valid(mine.Secret) || b.valid(elsewhere.Secret) || !b.valid(api) || !b.valid(bobs.Secret) {
			t.Error("other tokens than the account's other sessions are ended")
		}
		b.login("ann", next)
		stranger := u.User
		stranger.ID = other.ID // the name is another account's by now
		if err := b.SignIn.ChangePassword(b.as(stranger, ""), next, secret); !identity.BadLogin.Is(err) {
			t.Errorf("of another account: %v", err)
		}
		for range 20 {
			_ = b.SignIn.ChangePassword(ctx, "incorrect horse battery", next)
		}
		if err := b.SignIn.ChangePassword(ctx, next, secret); !identity.TooManyAttempts.Is(err) {
			t.Errorf("guessing with a session: %v", err)
		}
	})
}

func TestFirstPassword(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		bearer, err := b.Bootstrap.EnsureAdmin(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Authenticator.Authenticate(t.Context(), bearer)
		if err != nil {
			t.Fatal(err)
		}
		ctx := b.as(p.User, p.TokenID)
		if err := b.SignIn.ChangePassword(ctx, "incorrect horse battery", secret); !identity.BadLogin.Is(err) {
			t.Errorf("with a current one where there is none: %v", err)
		}
		var set atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				switch err := b.SignIn.ChangePassword(ctx, "", secret); {
				case err == nil:
					set.Add(1)
				case !identity.BadLogin.Is(err):
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
		if set.Load() != 1 {
			t.Errorf("the first password was set %d times", set.Load())
		}
		b.login("admin", secret)
		if !b.valid(bearer) {
			t.Error("the first token is ended")
		}
		if a, err := b.Accounts.Get(t.Context(), p.User.ID); err != nil || a.Revision != 2 {
			t.Errorf("the first password is no change of the account: %+v %v", a, err)
		}
	})
}

// TestFirstPasswordOfWhoSignsInElsewhere is an admin's to set: with it, sign-ins no longer take the provider's word.
func TestFirstPasswordOfWhoSignsInElsewhere(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		s, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, "1", "ann", "ops"))
		if err != nil {
			t.Fatal(err)
		}
		tok, _, err := b.Tokens.Mint(t.Context(), newToken("ci", s.User.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{s.Token.ID, tok.ID, ""} {
			if err := b.SignIn.ChangePassword(b.as(s.User, id), "", secret); !identity.NotAllowed.Is(err) {
				t.Errorf("with the token %q: %v", id, err)
			}
		}
		a, err := b.Accounts.Get(t.Context(), s.User.ID)
		if err != nil || a.HasPassword || a.Revision != 1 || b.hasher.hashed.Load() != 0 {
			t.Errorf("a refusal changes the account or costs work: %+v %v", a, err)
		}
		first := secret
		if _, err := b.Accounts.Update(t.Context(), s.User.ID, 1, identity.AccountChange{Password: &first}); err != nil {
			t.Fatal(err)
		}
		mine := b.login("ann", secret)
		if err := b.SignIn.ChangePassword(b.as(s.User, mine.Token.ID), secret, "another long password"); err != nil {
			t.Errorf("the next one: %v", err)
		}
		if a, err := b.Accounts.Get(t.Context(), s.User.ID); err != nil || a.Revision != 3 {
			t.Errorf("revision %d after two changes, %v", a.Revision, err)
		}
	})
}

// TestIdentityThatComesMeanwhile is tied to the account between the question for the first password and its storing.
func TestIdentityThatComesMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u, err := b.Accounts.Create(t.Context(), identity.NewAccount{Username: "ann", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		tie := func() {
			c := identity.AccountChange{Identities: &[]identity.Link{link(identity.OIDC, "1")}}
			if _, err := b.Accounts.Update(t.Context(), u.ID, 0, c); err != nil {
				t.Error(err)
			}
		}
		b.hasher.hashing.Store(&tie)
		tok, _, err := b.Tokens.Mint(t.Context(), newToken("ci", u.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.SignIn.ChangePassword(b.as(u.User, tok.ID), "", secret); !identity.NotAllowed.Is(err) {
			t.Errorf("%v", err)
		}
		if a, err := b.Accounts.Get(t.Context(), u.ID); err != nil || a.HasPassword {
			t.Errorf("%+v %v", a, err)
		}
	})
}
