package identity_test

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// parent makes a token with limits for an account by the command line.
func (b *bundle) parent(u identity.User, n identity.NewToken) (context.Context, identity.Token, string) {
	b.t.Helper()
	n.UserID = u.ID
	tok, bearer, err := b.Tokens.Mint(b.t.Context(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := b.Authenticator.Authenticate(b.from("192.0.2.7"), bearer)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx := b.as(u, tok.ID)
	return identity.With(ctx, p), tok, bearer
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// TestTokenOfAToken is T46: a token made with an API token expires no later and allows no more.
// Keeps T46.
func TestTokenOfAToken(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		admin, vic := b.account("root", identity.Admin).User, b.account("vic", identity.Viewer).User
		request := identity.NewToken{Name: "parent", TTL: time.Hour, Networks: []string{"192.0.2.0/24", "2001:db8::/32"},
			Scopes: identity.Scopes{identity.ScopeOperate, identity.ScopeRead, identity.ScopeRead}}
		narrow, parent, _ := b.parent(admin, request)
		if want := (identity.Scopes{identity.ScopeRead, identity.ScopeOperate}); !reflect.DeepEqual(parent.Scopes, want) {
			t.Errorf("the scopes are %v", parent.Scopes)
		}
		whole, _, _ := b.parent(admin, identity.NewToken{Name: "whole", Scopes: identity.Scopes{identity.ScopeAdmin}})
		free, _, _ := b.parent(admin, identity.NewToken{Name: "free"})
		session := b.as(admin, b.login("root", secret).Token.ID)
		type limits struct {
			ends     time.Time
			scopes   identity.Scopes
			networks []netip.Prefix
		}
		in := func(d time.Duration) time.Time { return b.clock.Now().Add(d) }
		same, never := limits{in(time.Hour), parent.Scopes, parent.Networks}, time.Time{}
		ask := func(s identity.Scopes, networks ...string) identity.NewToken {
			return identity.NewToken{Scopes: s, Networks: networks}
		}
		for name, c := range map[string]struct {
			ctx    context.Context
			n      identity.NewToken
			want   limits
			beyond string
		}{
			"all from the parent": {narrow, identity.NewToken{}, same, ""},
			"a longer life":       {narrow, newToken("", "", 2*time.Hour), same, ""},
			"a shorter life": {narrow, newToken("", "", time.Minute),
				limits{in(time.Minute), parent.Scopes, parent.Networks}, ""},
			"less": {narrow, ask(identity.Scopes{"launch"}, "192.0.2.128/25"),
				limits{in(time.Hour), identity.Scopes{"launch"}, prefixes("192.0.2.128/25")}, ""},
			"admin":                {narrow, ask(identity.Scopes{"read", "admin"}), limits{}, "scopes"},
			"a wider network":      {narrow, ask(nil, "192.0.0.0/16"), limits{}, "networks"},
			"another network":      {narrow, ask(nil, "192.0.2.0/25", "198.51.100.0/24"), limits{}, "networks"},
			"every network":        {narrow, ask(nil, "0.0.0.0/0"), limits{}, "networks"},
			"another's":            {narrow, newToken("", vic.ID, 0), limits{}, "role"},
			"of admin":             {whole, identity.NewToken{}, limits{never, identity.Scopes{"admin"}, nil}, ""},
			"of admin, all":        {whole, ask(identity.AllScopes()), limits{never, identity.AllScopes(), nil}, ""},
			"of admin, another's":  {whole, newToken("", vic.ID, 0), limits{never, identity.Scopes{"admin"}, nil}, ""},
			"of one without limit": {free, ask(nil, "::/0"), limits{never, nil, prefixes("::/0")}, ""},
			"of a session": {session, newToken("", "", 1000*time.Hour),
				limits{in(1000 * time.Hour), nil, nil}, ""},
			"of a session, limited": {session, ask(identity.Scopes{"read"}), limits{never, identity.Scopes{"read"}, nil}, ""},
		} {
			got, bearer, err := b.Tokens.Mint(c.ctx, c.n)
			if c.beyond != "" {
				if !identity.NotAllowed.Is(err) || bearer != "" || !strings.Contains(err.Error(), c.beyond) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			is := limits{got.ExpiresAt, got.Scopes, got.Networks}
			if err != nil || !reflect.DeepEqual(is, c.want) {
				t.Errorf("%s: %+v %v", name, got, err)
			}
		}
	})
}

func TestMalformedLimits(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("vic", identity.Viewer)
		many := make([]string, identity.MaxNetworks+1)
		for i := range many {
			many[i] = fmt.Sprintf("10.0.%d.0/24", i)
		}
		for at, list := range map[string][]identity.NewToken{
			"scopes": {{Scopes: identity.Scopes{"root"}}, {Scopes: identity.Scopes{"read", ""}},
				{Scopes: identity.Scopes{"Read"}}},
			"networks[0]": {{Networks: []string{""}}, {Networks: []string{"192.0.2.1"}}, {Networks: []string{"192.0.2.1/24"}},
				{Networks: []string{"192.0.2.0/33"}}, {Networks: []string{"::ffff:192.0.2.0/120"}}, {Networks: []string{"host/24"}},
				{Networks: []string{"fe80::1%eth0/64"}}},
			"networks[1]": {{Networks: []string{"10.0.0.0/8", "10.0.0.0/8 "}}},
			"networks":    {{Networks: many}},
		} {
			for _, n := range list {
				n.UserID = u.ID
				if _, _, err := b.Tokens.Mint(t.Context(), n); !invalid(err) || field(err) != at {
					t.Errorf("%+v: %v", n, err)
				}
			}
		}
	})
}

func TestNetworksOfAToken(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("vic", identity.Viewer)
		_, tok, bearer := b.parent(u.User, identity.NewToken{Networks: []string{"192.0.2.0/24", "2001:db8::/32"}})
		for address, in := range map[string]bool{
			"192.0.2.0": true, "192.0.2.255": true, "2001:db8::1": true, "192.0.3.1": false, "2001:db9::1": false,
			"": false, "nowhere": false, "127.0.0.1": false, "::1": false,
		} {
			ctx := b.from(address)
			_, byToken := b.Authenticator.Authenticate(ctx, bearer)
			_, byTicket := b.Authenticator.Account(ctx, u.ID, tok.ID)
			_, _, checked := b.SignIn.Check(ctx, bearer)
			for what, err := range map[string]error{"token": byToken, "ticket": byTicket, "check": checked} {
				if in != (err == nil) || err != nil && !identity.BadToken.Is(err) {
					t.Errorf("the %s from %q: %v", what, address, err)
				}
			}
		}
		_, outside := b.Authenticator.Authenticate(b.from("198.51.100.1"), bearer)
		_, unknown := b.Authenticator.Authenticate(b.from("198.51.100.1"), bearer[:len(bearer)-1])
		if a, b := asFault(outside), asFault(unknown); a == nil || b == nil || a.Message != b.Message || a.Cause == nil {
			t.Errorf("from elsewhere %v, unknown %v: the answers differ, or the log does not", outside, unknown)
		}
	})
}

// TestRevokedParentRace is T46: tokens that are made while their parent is revoked end with it, and none is made later.
// Keeps T46.
func TestRevokedParentRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("vic", identity.Viewer)
		for range 8 {
			ctx, parent, _ := b.parent(u.User, identity.NewToken{Name: "parent"})
			b.entries()
			var mu sync.Mutex
			made := map[string]string{}
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					tok, bearer, err := b.Tokens.Mint(ctx, identity.NewToken{Name: "child"})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						made[tok.ID] = bearer
					} else if !identity.BadToken.Is(err) {
						t.Errorf("mint: %v", err)
					}
				})
			}
			wg.Go(func() {
				if err := b.Tokens.Revoke(t.Context(), parent.ID); err != nil {
					t.Errorf("revoke: %v", err)
				}
			})
			wg.Wait()
			for id, bearer := range made {
				if b.valid(bearer) {
					t.Errorf("%s outlives its parent", id)
				}
			}
			for _, e := range b.entries() {
				if n, _ := e.Detail["tokens_ended"].(int); e.Action == audit.TokenRevoke && n != len(made) {
					t.Errorf("%d tokens were made, and %v ended", len(made), e.Detail)
				}
			}
			if _, _, err := b.Tokens.Mint(ctx, identity.NewToken{}); !identity.BadToken.Is(err) {
				t.Errorf("with a revoked token: %v", err)
			}
		}
	})
}
