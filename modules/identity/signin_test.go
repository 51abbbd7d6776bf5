package identity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func TestLogin(t *testing.T) {
	onEachEngine(t, module.Config{SessionTTL: time.Hour}, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Operator)
		one, two := b.login("ann", secret), b.login("ann", secret)
		if one.Secret == two.Secret || one.Token.ID == two.Token.ID || !form.MatchString(one.Secret) {
			t.Error("two sessions share a token")
		}
		if one.User != u.User || one.Token.Kind != identity.SessionToken || one.Token.UserID != u.ID ||
			one.Token.CreatedBy != u.ID ||
			!one.Token.ExpiresAt.Equal(b.clock.Now().Add(time.Hour)) {
			t.Errorf("%+v", one.Token)
		}
		tok, who, err := b.SignIn.Check(t.Context(), one.Secret)
		if err != nil || tok.ID != one.Token.ID || who != u.User {
			t.Errorf("check: %+v %+v %v", tok, who, err)
		}
		p, err := b.Authenticator.Authenticate(t.Context(), one.Secret)
		if err != nil || p.User != u.User || p.TokenID != one.Token.ID {
			t.Fatalf("%+v %v", p, err)
		}
		for range 2 { // again is no error
			if err := b.SignIn.Logout(identity.With(t.Context(), p)); err != nil {
				t.Error(err)
			}
		}
		if b.valid(one.Secret) || !b.valid(two.Secret) {
			t.Error("logging out ends another session than the caller's")
		}
		b.clock.move(time.Hour)
		if _, _, err := b.SignIn.Check(t.Context(), two.Secret); !identity.BadToken.Is(err) || b.valid(two.Secret) {
			t.Errorf("after its time: %v", err)
		}
		if err := b.SignIn.Logout(t.Context()); !identity.NotAllowed.Is(err) {
			t.Errorf("logging out nobody: %v", err)
		}
	})
}

// TestBadLoginTellsNothing compares the answers to everything that can be wrong, and the work that they took.
// Keeps T25.
func TestBadLoginTellsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		if _, err := b.Accounts.Create(t.Context(),
			identity.NewAccount{Username: "nopass", Role: identity.Viewer}); err != nil {
			t.Fatal(err)
		}
		long := make([]byte, 1<<20)
		for i := range long {
			long[i] = 'x'
		}
		var text string
		for name, c := range map[string]struct {
			user string
			p    identity.Password
		}{
			"wrong":              {"ann", "incorrect horse battery"},
			"unknown":            {"bob", secret},
			"without a password": {"nopass", secret},
			"empty for none":     {"nopass", ""},
			"empty":              {"ann", ""},
			"very long":          {"ann", identity.Password(long)},
			"no user name":       {"", secret},
			"a name with NUL":    {"a\x00b", secret},
			"another case":       {"Ann", secret},
		} {
			before := b.hasher.verified.Load()
			_, err := b.SignIn.Login(b.from("192.0.2.1"), c.user, c.p)
			f := asFault(err)
			if !identity.BadLogin.Is(err) || len(f.Fields) != 0 || f.Detail != nil || f.Cause != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text == "" {
				text = f.Message
			}
			if f.Message != text {
				t.Errorf("%s: %q, elsewhere %q", name, f.Message, text)
			}
			if n := b.hasher.verified.Load() - before; n != 1 {
				t.Errorf("%s: %d passwords were judged", name, n)
			}
		}
	})
}

// TestGuessing makes a thousand wrong logins in parallel: ten are judged, and the right one still works from elsewhere.
// Keeps T25.
func TestGuessing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		var refused atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 125 {
					_, err := b.SignIn.Login(b.from("192.0.2.66"), "ann", "incorrect horse battery")
					switch f := asFault(err); {
					case identity.TooManyAttempts.Is(err) && f.RetryAfter > 0 && f.RetryAfter <= time.Minute:
						refused.Add(1)
					case !identity.BadLogin.Is(err):
						t.Errorf("%v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := b.hasher.verified.Load(); n != 10 || refused.Load() != 990 {
			t.Errorf("%d passwords were judged, %d attempts refused", n, refused.Load())
		}
		if _, err := b.SignIn.Login(b.from("192.0.2.66"), "ann", secret); !identity.TooManyAttempts.Is(err) {
			t.Errorf("the right one from there: %v", err)
		}
		b.login("ann", secret)
		if n := b.log.count("sign-in refused", "too_many_attempts"); n != 1 {
			t.Errorf("%d lines tell of a flood", n)
		}
		b.clock.move(time.Minute)
		if _, err := b.SignIn.Login(b.from("192.0.2.66"), "ann", secret); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// Keeps T25.
func TestManyAccountsFromOneAddress(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for i := range 300 {
			_, err := b.SignIn.Login(b.from(fmt.Sprintf("2001:db8::%x", i)), fmt.Sprint("user", i), secret)
			if want := i >= 100; want != identity.TooManyAttempts.Is(err) {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		if n := b.hasher.verified.Load(); n != 100 {
			t.Errorf("%d passwords were judged", n)
		}
	})
}

// TestWhatCountsAsFailure: an overloaded hasher is nobody's failure, a caller that goes away is.
func TestWhatCountsAsFailure(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		busy := fault.Wrap(fault.Unavailable, errors.New("full"), "too many passwords are judged at once")
		var err error = busy
		b.hasher.fail.Store(&err)
		for range 50 {
			if _, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", secret); !fault.Is(err, fault.Unavailable) {
				t.Fatal(err)
			}
		}
		b.hasher.fail.Store(nil)
		b.login("ann", secret)
		for range 10 {
			ctx, cancel := context.WithCancel(b.from("192.0.2.1"))
			away := func() { cancel() }
			b.hasher.during.Store(&away)
			if _, err := b.SignIn.Login(ctx, "ann", "incorrect horse battery"); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if _, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", secret); !identity.TooManyAttempts.Is(err) {
			t.Errorf("going away makes guessing free: %v", err)
		}
	})
}

func TestOutdatedHashIsRenewed(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		err := b.d.Do(t.Context(), func(ctx context.Context) error {
			return b.store.SetPassword(ctx, u.ID, "old$"+digest(secret), b.clock.Now(), true)
		})
		if err != nil {
			t.Fatal(err)
		}
		b.login("ann", secret)
		_, hash, err := b.store.UserByName(t.Context(), "ann")
		if err != nil || hash != "new$"+digest(secret) {
			t.Errorf("the hash is %q, %v", hash, err)
		}
		a, err := b.Accounts.Get(t.Context(), u.ID)
		if err != nil || a.Revision != 1 {
			t.Errorf("signing in changed the account: %+v %v", a, err)
		}
	})
}

// TestPasswordThatChangesMeanwhile changes the password between the judgement of the old one and the session.
func TestPasswordThatChangesMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		next := identity.Password("a wholly different one")
		change := func() {
			if _, err := b.Accounts.Update(t.Context(), u.ID, 0, identity.AccountChange{Password: &next}); err != nil {
				t.Error(err)
			}
		}
		b.hasher.during.Store(&change)
		if s, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", secret); !identity.BadLogin.Is(err) || s.Secret != "" {
			t.Errorf("by a password that is no longer one: %v", err)
		}
		remove := func() {
			if err := b.Accounts.Delete(t.Context(), u.ID, 0); err != nil {
				t.Error(err)
			}
		}
		b.account("root", identity.Admin)
		b.hasher.during.Store(&remove)
		if _, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", next); !identity.BadLogin.Is(err) {
			t.Errorf("into an account that is gone: %v", err)
		}
	})
}

// TestBeginnings counts sign-ins at a provider by address, apart from failures.
func TestBeginnings(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		begun := 0
		for i := range 300 {
			switch err := b.Beginnings.Begin(b.from(fmt.Sprintf("2001:db8::%x", i))); {
			case err == nil:
				begun++
			case !identity.TooManyAttempts.Is(err) || asFault(err).RetryAfter != time.Minute:
				t.Fatalf("%v", err)
			}
		}
		if begun != 100 {
			t.Errorf("%d began", begun)
		}
		if n := b.log.count("sign-in refused", "too_many_attempts", "2001:db8::"); n != 1 {
			t.Errorf("%d lines tell of a flood", n)
		}
		if err := b.Beginnings.Begin(b.from("2001:db8:0:1::1")); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
		if _, err := b.SignIn.Login(b.from("2001:db8::1"), "ann", secret); err != nil {
			t.Errorf("by password: %v", err)
		}
		b.clock.move(time.Minute)
		if err := b.Beginnings.Begin(b.from("2001:db8::1")); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}
