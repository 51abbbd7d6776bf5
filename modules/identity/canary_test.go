package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// canaries are values that no log and no error may hold.
type canaries struct {
	t     *testing.T
	b     *bundle
	birds []string
	names map[string]bool // birds that the trail may hold, as the name of an object
	errs  int
}

// secret remembers a value, and what is stored in its place.
func (c *canaries) secret(s string) string {
	sum := sha256.Sum256([]byte(s))
	c.birds = append(c.birds, s, hex.EncodeToString(sum[:]))
	return s
}

// name remembers a value that only the trail may tell.
func (c *canaries) name(s string) string {
	c.names[s] = true
	return c.secret(s)
}

// profile is one of canaries alone. With a bad member each operation fails at it.
func (c *canaries) profile(bad string) identity.Profile {
	p := identity.Profile{
		FullName: c.secret("canary full name" + bad), Email: c.secret("canary@example.test" + bad),
		Phone: c.secret("+1 555 canary" + bad),
		Title: c.secret("canary title" + bad), Links: []string{c.secret("https://canary.test/" + bad)},
		Notes: c.secret("canary notes" + bad),
	}
	return p
}

// sees looks for canaries in an error: its text, its whole structure, its causes, and what is answered.
func (c *canaries) sees(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.errs++
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		text := fmt.Sprintf("%v %+v %#v", e, e, e)
		if f := asFault(e); f != nil {
			text += fmt.Sprintf(" %v %v %+v %#v", f.Message, f.Detail, f.Fields, *f)
		}
		c.silent(what, text)
	}
}

func (c *canaries) silent(what, text string) {
	c.t.Helper()
	for _, bird := range c.birds {
		if strings.Contains(text, bird) {
			c.t.Errorf("%s tells %q: %s", what, bird, text)
		}
	}
}

// TestCanaries leads profiles, passwords and the secrets of tokens through every operation, in good and bad days.
func TestCanaries(t *testing.T) {
	rule := module.RoleRule{Default: identity.Viewer, Groups: map[string]identity.Role{"ops": identity.Operator}}
	cfg := module.Config{Rules: map[identity.Protocol]module.RoleRule{identity.OIDC: rule}}
	onEachEngine(t, cfg, func(t *testing.T, b *bundle) {
		c := &canaries{t: t, b: b, names: map[string]bool{}}
		c.accounts()
		c.sessions()
		c.federation()
		c.groups()
		b.params.Unit = failing{b.d}
		var err error
		if b.Result, err = module.New(b.params); err != nil {
			t.Fatal(err)
		}
		c.accounts()
		c.sessions()
		c.federation()
		broken := errors.New("no memory")
		b.hasher.fail.Store(&broken)
		c.accounts()
		c.sessions()
		b.hasher.fail.Store(nil)
		if err := b.d.Close(); err != nil {
			t.Error(err)
		}
		c.accounts()
		c.sessions()
		c.federation()
		if c.errs < 50 {
			t.Errorf("only %d operations failed", c.errs)
		}
		c.silent("the log", b.log.String())
		c.entries()
		if b.log.count("account created") == 0 || b.log.count("account changed") == 0 ||
			b.log.count("account deleted") == 0 ||
			b.log.count("sign-in refused") == 0 {
			t.Errorf("the log tells too little:\n%s", b.log)
		}
	})
}

// entries looks for canaries in the trail.
func (c *canaries) entries() {
	list := c.b.entries()
	if len(list) < 30 {
		c.t.Errorf("only %d entries", len(list))
	}
	for _, e := range list {
		for _, name := range []*string{&e.Object.Name, &e.actor.Name} {
			if c.names[*name] {
				*name = ""
			}
		}
		c.silent("the trail", e.text(c.t))
	}
}

// failing is a unit of work that fails at its end.
type failing struct{ tx.Unit }

func (f failing) Do(ctx context.Context, fn func(context.Context) error) error {
	return f.Unit.Do(ctx, func(ctx context.Context) error {
		return errors.Join(fn(ctx), fault.Wrap(fault.Unavailable, errors.New("the commit is lost"),
			"the store does not answer"))
	})
}

func (c *canaries) accounts() {
	ctx, b := c.t.Context(), c.b
	name := fmt.Sprint("ann", c.errs)
	good := identity.NewAccount{Username: name, Role: identity.Operator, Profile: c.profile("")}
	good.Password = identity.Password(c.secret("canary password"))
	made, err := b.Accounts.Create(ctx, good)
	c.sees("create", err)
	again, err := b.Accounts.Create(ctx, good)
	c.sees("create again", err)
	c.silent("the account", fmt.Sprintf("%v %+v %#v", made, made, again))
	changes := []identity.AccountChange{{Profile: c.profile(" anew")}, {Profile: good.Profile, Password: &good.Password}}
	for _, bad := range []string{"\x00", "\xff", "\n\x01", strings.Repeat("x", 3000)} {
		whole := c.profile(bad)
		for _, p := range []identity.Profile{{FullName: whole.FullName}, {Email: whole.Email}, {Phone: whole.Phone},
			{Title: whole.Title},
			{Links: whole.Links}, {Notes: whole.Notes}, {Links: []string{c.secret("javascript:canary" + bad)}}, whole} {
			n := good
			n.Profile = p
			_, err := b.Accounts.Create(ctx, n)
			c.sees("create a bad one", err)
			changes = append(changes, identity.AccountChange{Profile: p})
		}
		p := identity.Password(c.secret("canary" + bad))
		changes = append(changes, identity.AccountChange{Password: &p})
	}
	for _, change := range changes {
		for _, revision := range []int64{0, 99} {
			_, err := b.Accounts.Update(ctx, made.ID, revision, change)
			c.sees("update", err)
		}
	}
	_, err = b.Accounts.Get(ctx, "usr_none")
	c.sees("get", err)
	c.sees("delete", b.Accounts.Delete(ctx, made.ID, 0))
}

func (c *canaries) sessions() {
	b, t := c.b, c.t
	p := identity.Password(c.secret("canary of a session"))
	name := fmt.Sprint("bob", c.errs)
	made, err := b.Accounts.Create(t.Context(), identity.NewAccount{Username: name, Role: identity.Viewer, Password: p})
	c.sees("create", err)
	for i, user := range []string{name, name, "nobody", "", c.secret("canary typed into the wrong line")} {
		for _, password := range []identity.Password{p, identity.Password(c.secret(fmt.Sprint("wrong canary ", i)))} {
			s, err := b.SignIn.Login(b.from(fmt.Sprint("192.0.2.", i)), user, password)
			c.sees("login", err)
			if err != nil {
				continue
			}
			c.secret(s.Secret)
			ctx := b.as(s.User, s.Token.ID)
			c.sees("change password", b.SignIn.ChangePassword(ctx, password, identity.Password(c.secret("short"+s.Secret[5:8]))))
			c.sees("change password", b.SignIn.ChangePassword(ctx, identity.Password(c.secret("not canary")), p))
			c.sees("change password", b.SignIn.ChangePassword(ctx, p, p))
			c.sees("log out", b.SignIn.Logout(ctx))
			_, _, err = b.SignIn.Check(ctx, s.Secret)
			c.sees("check", err)
			_, err = b.Authenticator.Authenticate(ctx, s.Secret)
			c.sees("authenticate", err)
		}
	}
	for range 12 {
		_, err := b.SignIn.Login(b.from("192.0.2.77"), name, identity.Password(c.secret("guessed canary")))
		c.sees("guess", err)
	}
	_, bearer, err := b.Tokens.Mint(t.Context(), newToken("ci", made.ID, 0))
	c.sees("mint", err)
	if bearer != "" {
		c.secret(bearer)
	}
	_, err = b.Authenticator.Authenticate(t.Context(), bearer+"x")
	c.sees("authenticate", err)
}

// groups makes and removes one of everything whose making is logged. Their names are nobody's business there.
func (c *canaries) groups() {
	b, ctx := c.b, c.t.Context()
	u, err := b.Accounts.Create(ctx, identity.NewAccount{Username: c.name(fmt.Sprint("canary", c.errs)),
		Role: identity.Viewer})
	c.sees("create", err)
	tok, bearer, err := b.Tokens.Mint(ctx, newToken(c.name("canary of a token's name"), u.ID, 0))
	c.sees("mint", err)
	if bearer != "" {
		c.secret(bearer)
	}
	c.sees("revoke", b.Tokens.Revoke(ctx, tok.ID))
	team, err := b.Teams.Create(ctx, c.name("canary of a team"))
	c.sees("team", err)
	org, err := b.Orgs.Create(ctx, c.name("canary of an organization"))
	c.sees("organization", err)
	_, err = b.Teams.AddMember(ctx, team.ID, u.ID)
	c.sees("add", err)
	_, err = b.Orgs.PutMember(ctx, org.ID, u.ID, identity.OrgAdmin)
	c.sees("put", err)
	g, _, err := b.Grants.Create(ctx, identity.UserSubject(u.ID), "queue:q", access.Use)
	c.sees("grant", err)
	c.sees("ungrant", b.Grants.Delete(ctx, g.ID))
	c.sees("remove", b.Teams.RemoveMember(ctx, team.ID, u.ID))
	c.sees("remove", b.Orgs.RemoveMember(ctx, org.ID, u.ID))
	c.sees("delete", b.Teams.Delete(ctx, team.ID))
	c.sees("delete", b.Orgs.Delete(ctx, org.ID))
	c.sees("delete", b.Accounts.Delete(ctx, u.ID, 0))
}

func (c *canaries) federation() {
	b := c.b
	e := identity.External{Link: link(identity.OIDC, fmt.Sprint(c.errs)), Username: fmt.Sprint("eve", c.errs),
		FullName: c.secret("canary of a provider"), Email: c.secret("canary@idp.test"),
		Groups: []string{c.secret("canaries")}}
	for _, edit := range []func(){
		func() {}, func() {}, func() { e.Groups = []string{"ops"} },
		func() { e.Link.Subject += "x" }, // the name is taken
		func() { e.Username = "" },
		func() { e.Link.Protocol = identity.SAML },
		func() { e.Link.Subject = c.secret("canary\x00") },
	} {
		edit()
		s, err := b.Federation.Admit(b.from("192.0.2.1"), e)
		c.sees("admit", err)
		if err == nil {
			c.secret(s.Secret)
		}
	}
}
