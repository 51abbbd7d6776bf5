package identity_test

import (
	"context"
	"sync"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// sensitive are the changes that take a recent sign-in, each for a fresh account.
func (b *bundle) sensitive() map[string]func(ctx context.Context) error {
	b.t.Helper()
	unused := func() string { return b.params.IDs.New(ids.User) }
	target := func() string {
		a, err := b.Accounts.Create(b.t.Context(), identity.NewAccount{Username: unused(), Role: identity.Viewer})
		if err != nil {
			b.t.Fatal(err)
		}
		return a.ID
	}
	return map[string]func(ctx context.Context) error{
		"a token for another account": func(ctx context.Context) error {
			_, _, err := b.Tokens.Mint(ctx, newToken("x", target(), 0))
			return err
		},
		"an account with a password": func(ctx context.Context) error {
			_, err := b.Accounts.Create(ctx, identity.NewAccount{Username: unused(), Role: identity.Admin, Password: secret})
			return err
		},
		"the password of another account": func(ctx context.Context) error {
			p := secret
			_, err := b.Accounts.Update(ctx, target(), 0, identity.AccountChange{Password: &p})
			return err
		},
	}
}

// TestRecentSignIn is T46: what opens another account takes a session or a token that rests on a sign-in of the last
// hour, however young the token itself is.
// Keeps T46.
func TestRecentSignIn(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		admin := b.account("root", identity.Admin).User
		session := b.as(admin, b.login("root", secret).Token.ID)
		mint := func(ctx context.Context, n identity.NewToken) context.Context {
			tok, _, err := b.Tokens.Mint(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			return b.as(admin, tok.ID)
		}
		token := mint(session, identity.NewToken{})
		command := mint(t.Context(), newToken("", admin.ID, 0))
		check := func(when string, want func(error) bool, callers map[string]context.Context) {
			t.Helper()
			for who, ctx := range callers {
				for what, do := range b.sensitive() {
					if err := do(ctx); !want(err) {
						t.Errorf("%s: %s by %s: %v", when, what, who, err)
					}
				}
			}
		}
		succeeds := func(err error) bool { return err == nil }
		cli := actor.With(t.Context(), actor.Actor{Type: actor.System, Name: "cli:ann"})
		check("at once", succeeds, map[string]context.Context{"a session": session, "a token": token, "a command's": command,
			"the command line": cli})
		b.clock.move(59 * time.Minute)
		child := mint(token, identity.NewToken{})
		check("before an hour", succeeds, map[string]context.Context{"a token": token, "its child": child})
		b.clock.move(time.Minute)
		again := mint(token, identity.NewToken{Password: secret})
		check("after an hour", identity.RecentSignInRequired.Is, map[string]context.Context{"a token": token,
			"its young child": child, "a newer child": mint(child, identity.NewToken{}), "a command's": command})
		check("after an hour", succeeds, map[string]context.Context{"a session": session, "the command line": cli,
			"a token made with the password": again, "its child": mint(again, identity.NewToken{})})
		check("nobody", identity.BadToken.Is, map[string]context.Context{"an ended token": b.as(admin, "tok_no")})
		b.clock.move(48 * time.Hour)
		ahead := mint(t.Context(), newToken("", admin.ID, 0))
		b.clock.move(-48 * time.Hour)
		check("after the clock was set back", identity.RecentSignInRequired.Is, map[string]context.Context{"a token": ahead})
	})
}

// TestPasswordAsRecentSignIn mints with the member password: a wrong one is a failed sign-in.
func TestPasswordAsRecentSignIn(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		admin, vic := b.account("root", identity.Admin).User, b.account("vic", identity.Viewer)
		tok, _, err := b.Tokens.Mint(t.Context(), newToken("", admin.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		ctx := b.as(admin, tok.ID)
		b.clock.move(2 * time.Hour)
		ask := func(p identity.Password) error {
			_, _, err := b.Tokens.Mint(ctx, identity.NewToken{UserID: vic.ID, Password: p})
			return err
		}
		b.entries()
		if err := ask("incorrect horse battery"); !identity.BadLogin.Is(err) {
			t.Errorf("a wrong password: %v", err)
		}
		if e := b.one("a wrong password"); e.Action != audit.TokenCreate || e.Outcome != audit.Denied ||
			e.Object != userObject(admin) || e.Detail["reason"] != "bad_login" {
			t.Errorf("%+v", e)
		}
		if err := ask(secret); err != nil {
			t.Errorf("the password: %v", err)
		}
		if _, _, err := b.Tokens.Mint(b.as(vic.User, b.login("vic", secret).Token.ID),
			identity.NewToken{UserID: admin.ID, Password: secret}); !identity.NotAllowed.Is(err) {
			t.Errorf("a viewer with the password: %v", err)
		}
		next := identity.Password("another long password")
		change := func() {
			if _, err := b.Accounts.Update(t.Context(), admin.ID, 0, identity.AccountChange{Password: &next}); err != nil {
				t.Error(err)
			}
		}
		b.hasher.during.Store(&change)
		if err := ask(secret); !identity.BadLogin.Is(err) {
			t.Errorf("a password that changes meanwhile: %v", err)
		}
		for range 12 {
			_ = ask("incorrect horse battery")
		}
		if err := ask(next); !identity.TooManyAttempts.Is(err) {
			t.Errorf("guessing with a token: %v", err)
		}
	})
}

// TestFirstTokenIsRecent: until admin has a password, its first token may do everything, and only that one.
func TestFirstTokenIsRecent(t *testing.T) {
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
		b.clock.move(100 * 24 * time.Hour)
		for what, do := range b.sensitive() {
			if err := do(ctx); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		second, _, err := b.Tokens.Mint(ctx, newToken("first start", "", 0)) // the name alone is nothing
		if err != nil {
			t.Fatal(err)
		}
		other := b.as(p.User, second.ID)
		if err := b.SignIn.ChangePassword(other, "", secret); !identity.RecentSignInRequired.Is(err) {
			t.Errorf("the first password by another token: %v", err)
		}
		if err := b.SignIn.ChangePassword(ctx, "", secret); err != nil {
			t.Errorf("the first password: %v", err)
		}
		for what, do := range b.sensitive() {
			if err := do(ctx); !identity.RecentSignInRequired.Is(err) {
				t.Errorf("%s, with a password: %v", what, err)
			}
		}
	})
}

// TestConfiguredPassword: the account of a first start has the configured password, and the trail says that it has
// one. Later starts change nothing.
func TestConfiguredPassword(t *testing.T) {
	onEachEngine(t, module.Config{AdminPassword: secret}, func(t *testing.T, b *bundle) {
		for range 2 {
			if _, err := b.Bootstrap.EnsureAdmin(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
		created := 0
		for _, e := range b.trail.Take() {
			if e.Action == audit.UserCreate && e.Detail["password_set"] == true {
				created++
			}
		}
		if _, err := b.SignIn.Login(t.Context(), "admin", secret); err != nil || created != 1 {
			t.Errorf("%d entries, %v", created, err)
		}
	})
}

// TestOpenModeNeedsNoSignIn, since nobody can sign in there.
func TestOpenModeNeedsNoSignIn(t *testing.T) {
	onEachEngine(t, module.Config{Open: true}, func(t *testing.T, b *bundle) {
		if _, err := b.Bootstrap.EnsureAdmin(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		p, err := b.Authenticator.Authenticate(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for what, do := range b.sensitive() {
			if err := do(identity.With(t.Context(), p)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestFirstPasswordRace: of two tokens that set the first password at once one succeeds, and what the other one then
// wants takes a recent sign-in.
func TestFirstPasswordRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		bearer, err := b.Bootstrap.EnsureAdmin(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Authenticator.Authenticate(t.Context(), bearer)
		if err != nil {
			t.Fatal(err)
		}
		b.clock.move(2 * time.Hour)
		ctx := b.as(p.User, p.TokenID)
		vic := b.account("vic", identity.Viewer)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if i == 0 {
					if err := b.SignIn.ChangePassword(ctx, "", secret); err != nil {
						t.Errorf("the first password: %v", err)
					}
					return
				}
				if _, _, err := b.Tokens.Mint(ctx, newToken("x", vic.ID, 0)); err != nil &&
					!identity.RecentSignInRequired.Is(err) {
					t.Errorf("a token: %v", err)
				}
			})
		}
		wg.Wait()
		if _, _, err := b.Tokens.Mint(ctx, newToken("x", vic.ID, 0)); !identity.RecentSignInRequired.Is(err) {
			t.Errorf("afterwards: %v", err)
		}
	})
}
