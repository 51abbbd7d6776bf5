package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	verifier     = "verifier-of-forty-three-characters-or-more-012"
	programState = "state-of-the-program"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// returned signs a user in at a provider for a program, and returns the code that the program gets.
func (b *bundle) returned(state string, e identity.External) string {
	b.t.Helper()
	l := identity.Loopback{Port: 40404, Challenge: challengeOf(verifier), State: programState}
	if err := b.Programs.Expect(b.t.Context(), state, l); err != nil {
		b.t.Fatal(err)
	}
	address, err := b.Programs.Return(b.t.Context(), state, e)
	u, parsed := url.Parse(address)
	if err != nil || parsed != nil || u.Scheme != "http" || u.Host != "127.0.0.1:40404" || u.Path != "/" ||
		u.Query().Get("state") != programState || len(u.Query()) != 2 {
		b.t.Fatalf("returned to %q: %v", address, err)
	}
	return u.Query().Get("code")
}

// exchanges are the changes of a sign-in of a program.
func exchanges() []change {
	exchange := func(b *bundle, s *scene, verifier string) (identity.Session, error) {
		who := external(identity.OIDC, "known"+s.tag, "whoever", "ops")
		return b.Programs.Exchange(s.out, b.returned("state"+s.tag, who), verifier)
	}
	return []change{
		{"ProgramSignIn.Exchange", "of a code", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := exchange(b, s, verifier)
			return audit.Entry{Object: userObject(made.User), By: selfOf(made.User), Detail: map[string]any{"method": "oidc",
				"token_id": made.Token.ID, "expires_at": b.instant(12 * time.Hour)}}, made.Secret, err
		}, audit.AuthLogin, nil},
		{"ProgramSignIn.Exchange", "with a wrong verifier", func(b *bundle, s *scene) (audit.Entry, string, error) {
			made, err := exchange(b, s, "wrong")
			return audit.Entry{Outcome: audit.Denied,
				Detail: map[string]any{"method": "oidc", "reason": "bad_sign_in"}}, made.Secret, err
		}, audit.AuthLogin, identity.BadSignIn.Is},
	}
}

// TestProgramSignsIn opens no session before the code is exchanged, and then one for the account that the provider
// named, with the entry of every sign-in.
func TestProgramSignsIn(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		who := external("oidc", "1", "ann", "ops")
		who.FullName, who.Email = "Ann Example", "ann@example.test"
		code := b.returned("state-1", who)
		if list := b.entries(); len(list) != 0 {
			t.Errorf("recorded before the exchange: %+v", list)
		}
		s, err := b.Programs.Exchange(b.from("192.0.2.1"), code, verifier)
		if err != nil || s.User.Username != "ann" || s.User.Role != identity.Operator || !b.valid(s.Secret) {
			t.Fatalf("%+v %v", s.User, err)
		}
		e := b.one("the sign-in")
		if e.Action != audit.AuthLogin || e.Detail["method"] != "oidc" || e.actor.IP != "192.0.2.1" ||
			e.outcome() != audit.Applied {
			t.Errorf("%+v", e)
		}
		a, err := b.Accounts.Get(t.Context(), s.User.ID)
		if err != nil || a.Profile.FullName != who.FullName || cmp.Diff(a.Identities, []identity.Link{who.Link}) != "" {
			t.Errorf("%+v %v", a.Identities, err)
		}
		if text := b.log.String(); strings.Contains(text, code) || strings.Contains(text, s.Secret) ||
			strings.Contains(text, verifier) {
			t.Error("a secret is in the log")
		}
		if address, err := b.Programs.Return(t.Context(), "state-1", who); address != "" || err != nil {
			t.Errorf("a sign-in returns twice: %q %v", address, err)
		}
		if address, err := b.Programs.Return(t.Context(), "of a browser", who); address != "" || err != nil {
			t.Errorf("a sign-in that no program waits for: %q %v", address, err)
		}
	})
}

// TestCodesAreRefused: a code works once, and not at all after a wrong verifier. Only a code that was one is recorded.
func TestCodesAreRefused(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		ctx, who := b.from("192.0.2.1"), external("saml", "1", "ann")
		for _, wrong := range []string{"", "short", strings.ToUpper(verifier), challengeOf(verifier), verifier + "\x00",
			strings.Repeat("v", 129)} {
			code := b.returned("state", who)
			if s, err := b.Programs.Exchange(ctx, code, wrong); !identity.BadSignIn.Is(err) || s.Secret != "" {
				t.Errorf("%q: %v", wrong, err)
			}
			if e := b.one("a wrong verifier"); e.Detail["method"] != "saml" || e.Detail["reason"] != "bad_sign_in" {
				t.Errorf("%+v", e)
			}
			if _, err := b.Programs.Exchange(ctx, code, verifier); !identity.BadSignIn.Is(err) {
				t.Errorf("after %q the code is good: %v", wrong, err)
			}
			if list := b.entries(); len(list) != 0 {
				t.Errorf("an unknown code is recorded: %+v", list)
			}
		}
		code := b.returned("state", who)
		if _, err := b.Programs.Exchange(ctx, code, verifier); err != nil {
			t.Error(err)
		}
		b.entries()
		for _, bad := range []string{code, "", "made up", "state"} {
			if _, err := b.Programs.Exchange(ctx, bad, verifier); !identity.BadSignIn.Is(err) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if list := b.entries(); len(list) != 0 {
			t.Errorf("recorded: %+v", list)
		}
		code = b.returned("state", external("oidc", "2", "bob", "nobody"))
		if _, err := b.Programs.Exchange(ctx, code, verifier); !identity.NoRole.Is(err) {
			t.Errorf("a user without a role: %v", err)
		}
	})
}

// TestCodeRace lets sixteen programs exchange one code: one of them gets a session.
func TestCodeRace(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		code := b.returned("state", external("saml", "1", "ann"))
		var wg sync.WaitGroup
		made := make(chan identity.Session, 16)
		for range 16 {
			wg.Go(func() {
				s, err := b.Programs.Exchange(b.from("192.0.2.1"), code, verifier)
				if err == nil {
					made <- s
				} else if !identity.BadSignIn.Is(err) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(made) != 1 || !b.valid((<-made).Secret) {
			t.Errorf("%d sessions of one code", len(made))
		}
	})
}

// shortLived stores codes that are expired at once, and the lifetimes that were asked for.
type shortLived struct {
	identity.HandshakeStore
	asked map[string]time.Duration
}

func (s shortLived) SaveHandshake(
	ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration,
) error {
	s.asked[kind] = ttl
	if ttl == identity.CodeTTL {
		ttl = 0
	}
	return s.HandshakeStore.SaveHandshake(ctx, hash, kind, data, ttl)
}

// TestCodesExpire: an expired code is no code.
func TestCodesExpire(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		p, short := b.params, shortLived{b.store, map[string]time.Duration{}}
		p.Handshakes = short
		var err error
		if b.Result, err = module.New(p); err != nil {
			t.Fatal(err)
		}
		code := b.returned("state", external("saml", "1", "ann"))
		if _, err := b.Programs.Exchange(b.from("192.0.2.1"), code, verifier); !identity.BadSignIn.Is(err) {
			t.Errorf("%v", err)
		}
		want := map[string]time.Duration{"program": 10 * time.Minute, "program_code": time.Minute}
		if diff := cmp.Diff(want, short.asked); diff != "" {
			t.Error(diff)
		}
	})
}

// TestExpectations refuses a program that could not be told from another one.
func TestExpectations(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for what, change := range map[string]func(*identity.Loopback){
			"cli":       func(l *identity.Loopback) { l.Port = 0 },
			"challenge": func(l *identity.Loopback) { l.Challenge = verifier },
			"state":     func(l *identity.Loopback) { l.State = "short" },
		} {
			l := identity.Loopback{Port: 1, Challenge: challengeOf(verifier), State: programState}
			change(&l)
			if err := b.Programs.Expect(t.Context(), "state", l); !invalid(err) || field(err) != what {
				t.Errorf("%s: %v", what, err)
			}
		}
		l := identity.Loopback{Port: 65535, Challenge: challengeOf(verifier), State: programState}
		if err := b.Programs.Expect(t.Context(), "", l); !identity.BadSignIn.Is(err) {
			t.Errorf("a provider that returns no state: %v", err)
		}
	})
}

// TestExchangesAreLimited counts exchanges like beginnings.
func TestExchangesAreLimited(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range 100 {
			if _, err := b.Programs.Exchange(b.from("192.0.2.1"), "made up", verifier); !identity.BadSignIn.Is(err) {
				t.Fatal(err)
			}
		}
		if _, err := b.Programs.Exchange(b.from("192.0.2.1"), "made up", verifier); !identity.TooManyAttempts.Is(err) {
			t.Errorf("%v", err)
		}
	})
}
