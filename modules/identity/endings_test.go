package identity_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/identity"
)

// holder is an account with a token of every origin.
type holder struct {
	user    identity.User
	ctx     context.Context // with the session "asking"
	own     context.Context // with the token "own"
	bearers map[string]string
}

// holder makes an account of a provider with a password, and its tokens.
func (b *bundle) holder(root context.Context, name string) holder {
	b.t.Helper()
	a, err := b.Accounts.Create(b.t.Context(), identity.NewAccount{Username: name, Role: identity.Operator,
		Password: secret, Identities: []identity.Link{link(identity.OIDC, name)}})
	if err != nil {
		b.t.Fatal(err)
	}
	asking, other := b.login(name, secret), b.login(name, secret)
	h := holder{user: a.User, ctx: b.as(a.User, asking.Token.ID),
		bearers: map[string]string{"asking": asking.Secret, "other": other.Secret}}
	mint := func(what string, ctx context.Context, userID string) context.Context {
		tok, bearer, err := b.Tokens.Mint(ctx, newToken(what, userID, 0))
		if err != nil {
			b.t.Fatal(err)
		}
		h.bearers[what] = bearer
		return b.as(a.User, tok.ID)
	}
	h.own = mint("own", h.ctx, "")
	mint("own of own", h.own, "")
	mint("own of admin's", mint("admin's", root, a.ID), "")
	mint("command's", b.t.Context(), a.ID)
	return h
}

// left lists the tokens that are still valid.
func (b *bundle) left(h holder) string {
	var out []string
	for name, bearer := range h.bearers {
		if b.valid(bearer) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestWhatEndsTokens is T46: what a token rests on ends it.
// Keeps T46.
func TestWhatEndsTokens(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		admin := b.account("root", identity.Admin).User
		root := b.as(admin, b.login("root", secret).Token.ID)
		const next = identity.Password("another long password")
		const all = "admin's, asking, command's, other, own, own of admin's, own of own"
		const others = "admin's, command's" // made by others
		update := func(c identity.AccountChange, by func(h holder) context.Context) func(h holder) error {
			return func(h holder) error {
				_, err := b.Accounts.Update(by(h), h.user.ID, 0, c)
				return err
			}
		}
		admit := func(groups ...string) func(h holder) error {
			return func(h holder) error {
				_, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, h.user.Username, "x", groups...))
				return err
			}
		}
		byAdmin := func(holder) context.Context { return root }
		bySession := func(h holder) context.Context { return h.ctx }
		higher, lower, same, password := identity.Admin, identity.Viewer, identity.Operator, next
		for name, c := range map[string]struct {
			do   func(h holder) error
			left string
		}{
			"a profile": {update(identity.AccountChange{Profile: full(), Role: &same}, byAdmin), all},
			"a higher role": {update(identity.AccountChange{Role: &higher}, byAdmin), others + ", own, own of " +
				"admin's, own of own"},
			"a lower role":             {update(identity.AccountChange{Role: &lower}, byAdmin), ""},
			"a lower role by oneself":  {update(identity.AccountChange{Role: &lower}, bySession), ""},
			"a password by an admin":   {update(identity.AccountChange{Password: &password}, byAdmin), others},
			"a password by a PUT":      {update(identity.AccountChange{Password: &password}, bySession), others + ", asking"},
			"a password and less role": {update(identity.AccountChange{Password: &password, Role: &lower}, byAdmin), ""},
			"the own password": {func(h holder) error { return b.SignIn.ChangePassword(h.ctx, secret, next) },
				others + ", asking"},
			"the own password by a token": {func(h holder) error {
				return b.SignIn.ChangePassword(h.own, secret, next)
			}, others},
			"a wrong password": {func(h holder) error {
				if err := b.SignIn.ChangePassword(h.ctx, next, next); !identity.BadLogin.Is(err) {
					return err
				}
				return nil
			}, all},
			"the end of the account": {func(h holder) error { return b.Accounts.Delete(root, h.user.ID, 0) }, ""},
			"the same groups":        {admit("ops"), all},
			"more groups":            {admit("ops", "root"), others + ", own, own of admin's, own of own"},
			"a lost group":           {admit("all"), ""},
			"no group any more": {func(h holder) error {
				if err := admit("none")(h); !identity.NoRole.Is(err) {
					return err
				}
				return nil
			}, others},
		} {
			h := b.holder(root, strings.ReplaceAll(name, " ", "_"))
			if err := c.do(h); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := strings.Split(c.left, ", ")
			slices.Sort(want)
			if got := b.left(h); got != strings.Join(want, ", ") {
				t.Errorf("%s leaves %q, not %q", name, got, c.left)
			}
		}
	})
}

// TestMintWhileTokensEnd races the making of tokens with everything that ends them: none that rests on what was ended
// is left, whoever it is for.
func TestMintWhileTokensEnd(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		admin := b.account("root", identity.Admin).User
		root := b.as(admin, b.login("root", secret).Token.ID)
		viewer := b.account("vic", identity.Viewer).User
		lower, password := identity.Viewer, identity.Password("another long password")
		update := func(c identity.AccountChange) func(h holder) error {
			return func(h holder) error {
				_, err := b.Accounts.Update(root, h.user.ID, 0, c)
				return err
			}
		}
		for name, end := range map[string]func(h holder) error{
			"a demotion": update(identity.AccountChange{Role: &lower}),
			"a password": update(identity.AccountChange{Password: &password}),
			"a lost group": func(h holder) error {
				_, err := b.Federation.Admit(b.from("192.0.2.1"), external(identity.OIDC, h.user.Username, "x", "all"))
				return err
			},
			"a deletion": func(h holder) error { return b.Accounts.Delete(root, h.user.ID, 0) },
		} {
			h := b.holder(root, strings.ReplaceAll(name, " ", "_"))
			var mu sync.Mutex
			var made []string
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					_, bearer, err := b.Tokens.Mint([]context.Context{h.ctx, h.own}[i%2], newToken("child", "", 0))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						made = append(made, bearer)
					} else if !identity.BadToken.Is(err) && !identity.UserNotFound.Is(err) {
						t.Errorf("%s: mint: %v", name, err)
					}
				})
			}
			wg.Go(func() {
				if err := end(h); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			wg.Wait()
			for _, bearer := range made {
				if b.valid(bearer) {
					t.Errorf("%s: a token that was made meanwhile is left", name)
				}
			}
		}
		b.raceForAnother(root, viewer)
	})
}

// raceForAnother demotes an admin who makes tokens for another account: afterwards none is made.
func (b *bundle) raceForAnother(root context.Context, viewer identity.User) {
	lower := identity.Viewer
	second := b.account("second", identity.Admin).User
	ctx := b.as(second, b.login("second", secret).Token.ID)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, _, err := b.Tokens.Mint(ctx, newToken("x", viewer.ID, 0)); err != nil && !identity.BadToken.Is(err) {
				b.t.Errorf("mint for another: %v", err)
			}
		})
	}
	wg.Go(func() {
		if _, err := b.Accounts.Update(root, second.ID, 0, identity.AccountChange{Role: &lower}); err != nil {
			b.t.Errorf("demote: %v", err)
		}
	})
	wg.Wait()
	if _, _, err := b.Tokens.Mint(ctx, newToken("x", viewer.ID, 0)); !identity.BadToken.Is(err) {
		b.t.Errorf("by a demoted admin: %v", err)
	}
}
