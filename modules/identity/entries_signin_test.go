package identity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// TestRefusalsAreNotRecorded: what is refused for anything but a failed sign-in has no entry.
func TestRefusalsAreNotRecorded(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		s := b.scene(0)
		role, short, again := identity.Viewer, identity.Password("short"),
			identity.NewAccount{Username: s.ann.Username, Role: identity.Viewer}
		anns := b.as(s.ann.User, s.session.Token.ID)
		for what, call := range map[string]func() error{
			"a taken name":  func() error { _, err := b.Accounts.Create(s.ctx, again); return err },
			"a bad account": func() error { _, err := b.Accounts.Create(s.ctx, identity.NewAccount{}); return err },
			"an old revision": func() error {
				_, err := b.Accounts.Update(s.ctx, s.ann.ID, 9, identity.AccountChange{})
				return err
			},
			"nobody": func() error { _, err := b.Accounts.Update(s.ctx, "usr_no", 0, identity.AccountChange{}); return err },
			"another's name": func() error {
				_, err := b.Accounts.Update(s.ctx, s.ann.ID, 0, identity.AccountChange{Username: &s.bare.Username, Role: &role})
				return err
			},
			"a short password": func() error {
				_, err := b.Accounts.Update(s.ctx, s.ann.ID, 0, identity.AccountChange{Password: &short})
				return err
			},
			"the only admin":          func() error { return b.Accounts.Delete(s.ctx, s.root.ID, 0) },
			"an account that is gone": func() error { return b.Accounts.Delete(s.ctx, "usr_no", 0) },
			"another's token": func() error {
				_, _, err := b.Tokens.Mint(anns, newToken("x", s.root.ID, 0))
				return err
			},
			"a token for nobody": func() error {
				_, _, err := b.Tokens.Mint(s.ctx, newToken("x", "usr_no", 0))
				return err
			},
			"a token that is gone": func() error { return b.Tokens.Revoke(s.ctx, "tok_no") },
			"logging out nobody":   func() error { return b.SignIn.Logout(s.out) },
			"a password of nobody": func() error { return b.SignIn.ChangePassword(s.out, secret, secret) },
			"a short next one":     func() error { return b.SignIn.ChangePassword(anns, secret, short) },
			"a first one of eve's": func() error { return b.SignIn.ChangePassword(b.as(s.eve.User, ""), "", secret) },
			"a taken team":         func() error { _, err := b.Teams.Create(s.ctx, s.team.Name); return err },
			"no team":              func() error { return b.Teams.Delete(s.ctx, "team_no") },
			"into no team":         func() error { _, err := b.Teams.AddMember(s.ctx, "team_no", s.ann.ID); return err },
			"nobody into a team":   func() error { _, err := b.Teams.AddMember(s.ctx, s.team.ID, "usr_no"); return err },
			"no member":            func() error { return b.Teams.RemoveMember(s.ctx, s.team.ID, s.bare.ID) },
			"a taken organization": func() error { _, err := b.Orgs.Create(s.ctx, s.org.Name); return err },
			"no organization":      func() error { return b.Orgs.Delete(s.ctx, "org_no") },
			"no role there": func() error {
				_, err := b.Orgs.PutMember(s.ctx, s.org.ID, s.ann.ID, "owner")
				return err
			},
			"nobody in it": func() error {
				_, err := b.Orgs.PutMember(s.ctx, s.org.ID, "usr_no", identity.OrgAdmin)
				return err
			},
			"no member of it": func() error { return b.Orgs.RemoveMember(s.ctx, s.org.ID, s.bare.ID) },
			"a grant again": func() error {
				_, _, err := b.Grants.Create(s.ctx, identity.UserSubject(s.ann.ID), "queue:q0", access.Use)
				return err
			},
			"a grant on nothing": func() error {
				_, _, err := b.Grants.Create(s.ctx, identity.UserSubject(s.ann.ID), "prj_no", access.Use)
				return err
			},
			"no grant": func() error { return b.Grants.Delete(s.ctx, "grant_no") },
		} {
			if err := call(); err == nil || fault.Is(err, fault.Internal) {
				t.Errorf("%s: %v", what, err)
			}
			if list := b.entries(); len(list) != 0 {
				t.Errorf("%s is recorded: %+v", what, list)
			}
		}
	})
}

// TestNothingToRecord: what changes nothing that anybody asked for has no entry.
func TestNothingToRecord(t *testing.T) {
	onEachEngine(t, module.Config{Open: true}, func(t *testing.T, b *bundle) {
		p, err := b.Authenticator.Authenticate(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"logging out in open mode": b.SignIn.Logout(identity.With(t.Context(), p)),
			"an object":                b.Objects.Put(t.Context(), identity.Object{ID: "prj_1"}),
			"its end":                  b.Objects.Remove(t.Context(), "prj_1"),
			"a beginning":              b.Beginnings.Begin(b.from("192.0.2.1")),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if list := b.entries(); len(list) != 0 {
			t.Errorf("recorded: %+v", list)
		}
	})
}

// TestThrottledTriesAreNotRecorded: ten guesses have an entry each, a thousand more have none.
func TestThrottledTriesAreNotRecorded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		b.entries()
		for _, name := range []string{"ann", "nobody"} {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 25 {
						_, err := b.SignIn.Login(b.from("192.0.2.66"), name, "incorrect horse battery")
						if !identity.BadLogin.Is(err) && !identity.TooManyAttempts.Is(err) {
							t.Errorf("%v", err)
						}
					}
				})
			}
			wg.Wait()
			list := b.entries()
			if len(list) != 10 {
				t.Errorf("%d entries of guesses at %s", len(list), name)
			}
			want := audit.Object{}
			if name == "ann" {
				want = userObject(u.User)
			}
			for _, e := range list {
				if e.Object != want || e.actor.Type != actor.Anonymous || e.actor.IP != "192.0.2.66" || e.Outcome != audit.Denied {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

// counting counts the units of work.
type counting struct {
	tx.Unit
	n *atomic.Int64
}

func (c counting) Do(ctx context.Context, fn func(context.Context) error) error {
	c.n.Add(1)
	return c.Unit.Do(ctx, fn)
}

// TestEntriesTellNoAccountByTheWork: a refusal costs one judgement, one unit and one entry, whoever was named; and
// where the trail fails, the right password and every wrong one are answered alike.
func TestEntriesTellNoAccountByTheWork(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		if _, err := b.Accounts.Create(t.Context(),
			identity.NewAccount{Username: "nopass", Role: identity.Viewer}); err != nil {
			t.Fatal(err)
		}
		var units atomic.Int64
		b.params.Unit = counting{b.d, &units}
		var err error
		if b.Result, err = module.New(b.params); err != nil {
			t.Fatal(err)
		}
		b.entries()
		for i, name := range []string{"ann", "nopass", "nobody", "no name at all"} {
			units.Store(0)
			verified := b.hasher.verified.Load()
			if _, err := b.SignIn.Login(b.from(fmt.Sprint("192.0.2.", i)), name,
				"incorrect horse battery"); !identity.BadLogin.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
			e := b.one(name)
			if units.Load() != 1 || b.hasher.verified.Load() != verified+1 {
				t.Errorf("%s: %d units, %d judgements", name, units.Load(), b.hasher.verified.Load()-verified)
			}
			if strings.Contains(e.text(t), "nobody") || strings.Contains(e.text(t), "no name at all") ||
				strings.Contains(e.text(t), "horse") {
				t.Errorf("the entry tells what was typed: %s", e.text(t))
			}
		}
		b.trail.Fail(nil, audit.Unrecorded.New("full"))
		var refusals []string
		for i, p := range []identity.Password{secret, "incorrect horse battery"} {
			for _, name := range []string{"ann", "nobody"} {
				s, err := b.SignIn.Login(b.from(fmt.Sprint("192.0.2.1", i)), name, p)
				if f := asFault(err); f != nil && s.Secret == "" {
					refusals = append(refusals, f.Code+": "+f.Message)
				}
			}
		}
		if diff := cmp.Diff([]string{"audit_unavailable: full", "audit_unavailable: full", "audit_unavailable: full",
			"audit_unavailable: full"}, refusals); diff != "" {
			t.Error(diff)
		}
		b.trail.Fail(nil, nil)
		if list := b.entries(); len(list) != 0 {
			t.Errorf("recorded: %+v", list)
		}
		b.login("ann", secret)
		if e := b.one("signing in later"); e.actor != *selfOf(u.User) {
			t.Errorf("by %+v", e.actor)
		}
	})
}

// TestGoingAwayIsNoWayAround: a guess that was judged is recorded though its caller is gone; one that nobody judged
// is not. A trail that fails for another reason than its own is told as one that cannot be written.
func TestGoingAwayIsNoWayAround(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		b.entries()
		var err error
		ctx, cancel := context.WithCancel(b.from("192.0.2.1"))
		b.params.Hasher = late{b.hasher, cancel}
		if b.Result, err = module.New(b.params); err != nil {
			t.Fatal(err)
		}
		if _, err := b.SignIn.Login(ctx, "ann", "incorrect horse battery"); !identity.BadLogin.Is(err) {
			t.Errorf("gone after the judgement: %v", err)
		}
		b.one("a guess of who went away")
		busy := error(fault.Wrap(fault.Unavailable, errors.New("full"), "too many passwords are judged at once"))
		b.hasher.fail.Store(&busy)
		if _, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", secret); !fault.Is(err, fault.Unavailable) ||
			audit.Unrecorded.Is(err) {
			t.Errorf("unjudged: %v", err)
		}
		b.hasher.fail.Store(nil)
		if list := b.entries(); len(list) != 0 {
			t.Errorf("recorded unjudged: %+v", list)
		}
		broken := errors.New("a defect")
		b.trail.Fail(broken, nil)
		if _, err := b.SignIn.Login(b.from("192.0.2.1"), "ann", "incorrect horse battery"); !audit.Unrecorded.Is(err) ||
			!errors.Is(err, broken) {
			t.Errorf("a trail with a defect: %v", err)
		}
	})
}

// late is a hasher whose caller goes away once the password is judged.
type late struct {
	*hasher
	away func()
}

func (l late) Verify(ctx context.Context, p identity.Password, hash string) (ok, outdated bool, err error) {
	ok, outdated, err = l.hasher.Verify(ctx, p, hash)
	l.away()
	return ok, outdated, err
}

// TestRevokedOnce: of many who revoke a token one does, and has the entry.
func TestRevokedOnce(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		s := b.scene(0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := b.Tokens.Revoke(s.ctx, s.token.ID); err != nil && !identity.TokenNotFound.Is(err) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if e := b.one("a race"); e.actor.ID != s.root.ID || e.Action != audit.TokenRevoke {
			t.Errorf("%+v", e)
		}
	})
}

// TestCommandLine records who works at the machine, as an actor that has no account.
func TestCommandLine(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.System, Name: "cli:ann"})
		u, err := b.Accounts.Create(ctx, identity.NewAccount{Username: "new", Role: identity.Viewer, Password: secret})
		if err != nil {
			t.Fatal(err)
		}
		role := identity.Operator
		_, err = b.Accounts.Update(ctx, u.ID, u.Revision, identity.AccountChange{Role: &role})
		made, _, mint := b.Tokens.Mint(ctx, newToken("ci", u.ID, 0))
		for _, err := range []error{err, mint, b.Tokens.Revoke(ctx, made.ID), b.Accounts.Delete(ctx, u.ID, 0)} {
			if err != nil {
				t.Error(err)
			}
		}
		var got []audit.Action
		for _, e := range b.entries() {
			if e.actor != (actor.Actor{Type: actor.System, Name: "cli:ann"}) {
				t.Errorf("by %+v", e.actor)
			}
			got = append(got, e.Action)
		}
		want := []audit.Action{audit.UserCreate, audit.UserUpdate, audit.TokenCreate, audit.TokenRevoke, audit.UserDelete}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
