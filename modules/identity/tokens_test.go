package identity_test

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

var form = regexp.MustCompile(`^writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$`)

func TestFirstStart(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		var mu sync.Mutex
		var bearers []string
		var wg sync.WaitGroup
		for range 4 { // servers that start at once
			wg.Go(func() {
				bearer, err := b.Bootstrap.EnsureAdmin(t.Context(), true)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				} else if bearer != "" {
					bearers = append(bearers, bearer)
				}
			})
		}
		wg.Wait()
		if len(bearers) != 1 || !form.MatchString(bearers[0]) {
			t.Fatalf("%d servers got a secret", len(bearers))
		}
		p, err := b.Authenticator.Authenticate(t.Context(), bearers[0])
		if err != nil || p.User.Username != "admin" || p.User.Role != identity.Admin || p.Open || p.TokenID == "" {
			t.Errorf("%+v %v", p, err)
		}
		a, err := b.Accounts.Get(t.Context(), p.User.ID)
		if err != nil || a.HasPassword || a.Revision != 1 || a.UpdatedAt.IsZero() {
			t.Errorf("%+v %v", a, err)
		}
		list, n, err := b.Tokens.List(t.Context(), page.Window{})
		if err != nil || n != 1 || list[0].Name != "first start" || list[0].CreatedBy != "system" ||
			list[0].Kind != identity.APIToken {
			t.Errorf("%+v %v", list, err)
		}
		if b.log.count("account created", a.ID) != 1 {
			t.Errorf("the log tells:\n%s", b.log)
		}
	})
}

func TestFirstStartWithoutMinting(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		if bearer, err := b.Bootstrap.EnsureAdmin(t.Context(), false); bearer != "" || err != nil {
			t.Errorf("%q %v", bearer, err)
		}
		if list, n, _ := b.Tokens.List(t.Context(), page.Window{}); len(list) != 0 || n != 0 {
			t.Errorf("%d tokens", n)
		}
	})
}

func TestOpen(t *testing.T) {
	onEachEngine(t, module.Config{Open: true}, func(t *testing.T, b *bundle) {
		p, err := b.Authenticator.Authenticate(t.Context(), "whatever")
		if err != nil || !p.Open || p.User.Role != identity.Admin || p.User.Username != "admin" || p.User.ID != "" {
			t.Fatalf("%+v %v", p, err)
		}
		if _, err := b.Bootstrap.EnsureAdmin(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		p, err = b.Authenticator.Authenticate(t.Context(), "")
		if err != nil || p.User.ID == "" {
			t.Error("the admin account is not used")
		}
		if q, err := b.Authenticator.Account(t.Context(), "usr_other", "tok_other"); err != nil || !reflect.DeepEqual(q, p) {
			t.Errorf("a ticket's account: %+v %v", q, err)
		}
		ctx := identity.With(t.Context(), p)
		if me, err := b.Self.Me(ctx); err != nil || !me.Open || me.Token != nil {
			t.Errorf("%+v %v", me, err)
		}
		if err := b.SignIn.Logout(ctx); err != nil {
			t.Errorf("logging out of nothing: %v", err)
		}
	})
}

func TestMint(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		admin, viewer := b.account("root", identity.Admin).User, b.account("vic", identity.Viewer).User
		admins, viewers := b.as(admin, b.login("root", secret).Token.ID), b.as(viewer, b.login("vic", secret).Token.ID)
		anonymous := b.from("192.0.2.1")
		for name, c := range map[string]struct {
			ctx              context.Context
			user, name       string
			ttl              time.Duration
			owner, by, field string
			expect           func(error) bool
		}{
			"own":            {ctx: viewers, owner: viewer.ID, by: viewer.ID},
			"own, named":     {ctx: viewers, user: viewer.ID, owner: viewer.ID, by: viewer.ID},
			"another's":      {ctx: viewers, user: admin.ID, expect: identity.NotAllowed.Is},
			"admin's":        {ctx: admins, user: viewer.ID, owner: viewer.ID, by: admin.ID},
			"system":         {ctx: t.Context(), user: viewer.ID, owner: viewer.ID, by: "system"},
			"system, nobody": {ctx: t.Context(), expect: invalid, field: "user_id"},
			"no token":       {ctx: b.as(viewer, ""), expect: identity.BadToken.Is},
			"ended token":    {ctx: b.as(viewer, "tok_none"), expect: identity.BadToken.Is},
			"anonymous":      {ctx: anonymous, user: viewer.ID, expect: identity.NotAllowed.Is},
			"unknown":        {ctx: admins, user: "usr_none", expect: identity.UserNotFound.Is, field: "user_id"},
			"long name":      {ctx: admins, name: strings.Repeat("é", 201), expect: invalid, field: "name"},
			"line break":     {ctx: admins, name: "a\nb", expect: invalid, field: "name"},
			"past":           {ctx: admins, ttl: -time.Second, expect: invalid, field: "expires_in"},
		} {
			tok, bearer, err := b.Tokens.Mint(c.ctx, newToken(c.name, c.user, c.ttl))
			if c.expect != nil {
				if !c.expect(err) || bearer != "" || field(err) != c.field {
					t.Errorf("%s: %v naming %q", name, err, field(err))
				}
				continue
			}
			if err != nil || tok.UserID != c.owner || tok.CreatedBy != c.by || tok.Kind != identity.APIToken ||
				!form.MatchString(bearer) {
				t.Errorf("%s: %+v %v", name, tok, err)
			}
			got, err := b.Tokens.Get(t.Context(), tok.ID)
			if err != nil || !reflect.DeepEqual(got, tok) {
				t.Errorf("%s: stored %+v, made %+v, %v", name, got, tok, err)
			}
		}
	})
}

func TestExpiryAndRevocation(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		_, short, err := b.Tokens.Mint(t.Context(), newToken("ci", u.ID, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		kept, long, err := b.Tokens.Mint(t.Context(), newToken("ci", u.ID, 0))
		if err != nil || !b.valid(short) || !b.valid(long) {
			t.Fatal("new tokens are refused", err)
		}
		b.clock.move(time.Hour)
		if b.valid(short) || !b.valid(long) {
			t.Error("a token outlives its time, or one without an end has one")
		}
		list, n, err := b.Tokens.List(t.Context(), page.Window{Limit: 2})
		if err != nil || n != 2 || len(list) != 2 || list[1].ID != kept.ID {
			t.Fatalf("%+v of %d, %v", list, n, err)
		}
		p, err := b.Authenticator.Account(t.Context(), u.ID, kept.ID)
		if err != nil || p.TokenID != kept.ID || p.User != u.User {
			t.Errorf("the holder of a ticket: %+v %v", p, err)
		}
		if _, err := b.Authenticator.Account(t.Context(), u.ID, list[0].ID); !identity.BadToken.Is(err) {
			t.Errorf("with a token that has expired: %v", err)
		}
		if err := b.Tokens.Revoke(t.Context(), kept.ID); err != nil || b.valid(long) {
			t.Errorf("a revoked token: %v", err)
		}
		if _, err := b.Authenticator.Account(t.Context(), u.ID, kept.ID); !identity.BadToken.Is(err) {
			t.Errorf("with a token that is revoked: %v", err)
		}
		if b.log.count("token minted", kept.ID, u.ID) != 1 || b.log.count("token revoked", kept.ID) != 1 {
			t.Errorf("the log tells:\n%s", b.log)
		}
		if err := b.Tokens.Revoke(t.Context(), kept.ID); !identity.TokenNotFound.Is(err) {
			t.Errorf("revoked twice: %v", err)
		}
		if _, err := b.Tokens.Get(t.Context(), kept.ID); !identity.TokenNotFound.Is(err) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestMe(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Operator)
		s := b.login("ann", secret)
		team, err := b.Teams.Create(t.Context(), "ops")
		if err != nil {
			t.Fatal(err)
		}
		org, err := b.Orgs.Create(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Teams.AddMember(t.Context(), team.ID, u.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Orgs.PutMember(t.Context(), org.ID, u.ID, identity.OrgAdmin); err != nil {
			t.Fatal(err)
		}
		p, err := b.Authenticator.Authenticate(t.Context(), s.Secret)
		if err != nil {
			t.Fatal(err)
		}
		me, err := b.Self.Me(identity.With(t.Context(), p))
		if err != nil || me.User.ID != u.ID || me.Token == nil || me.Token.ID != s.Token.ID ||
			len(me.Teams) != 1 || me.Teams[0].ID != team.ID || len(me.Orgs) != 1 || me.Orgs[0].ID != org.ID ||
			me.Orgs[0].Role != identity.OrgAdmin || me.Open {
			t.Errorf("%+v %v", me, err)
		}
		if err := b.Tokens.Revoke(t.Context(), s.Token.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Self.Me(identity.With(t.Context(), p)); !identity.BadToken.Is(err) {
			t.Errorf("with a token that is gone: %v", err)
		}
		for _, ctx := range []context.Context{t.Context(), actor.With(t.Context(), actor.Actor{Type: actor.Anonymous})} {
			if _, err := b.Self.Me(ctx); !identity.BadToken.Is(err) {
				t.Errorf("nobody: %v", err)
			}
		}
	})
}
