package identity_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// scene is what one change needs: ann has a token and two sessions, is in the team and in the organization and has a
// grant; bare has no password; eve signs in at a provider and has a session.
type scene struct {
	tag            string
	ctx, out       context.Context // an admin's, and somebody's who has not signed in
	by             string          // the admin's session
	root           identity.Account
	ann, bare, eve identity.Account
	token          identity.Token
	bares          identity.Token // of bare
	session        identity.Session
	team           identity.Team
	org            identity.Org
	grant          identity.Grant
}

func (s *scene) self() *actor.Actor { return selfOf(s.ann.User) }

func selfOf(u identity.User) *actor.Actor {
	return &actor.Actor{Type: actor.User, ID: u.ID, Name: u.Username, IP: "192.0.2.1"}
}

// instant is a time from now as an entry spells it.
func (b *bundle) instant(d time.Duration) string {
	return b.clock.Now().Add(d).UTC().Format(time.RFC3339Nano)
}

// scene makes one; the entries of its making are taken away.
func (b *bundle) scene(n int) *scene {
	b.t.Helper()
	s := &scene{tag: fmt.Sprint(n), out: b.from("192.0.2.1")}
	s.root, s.ann = b.account("root"+s.tag, identity.Admin), b.account("ann"+s.tag, identity.Viewer)
	s.by = b.login(s.root.Username, secret).Token.ID
	s.ctx = b.as(s.root.User, s.by)
	var errs [10]error
	s.bare, errs[0] = b.Accounts.Create(s.ctx, identity.NewAccount{Username: "bare" + s.tag, Role: identity.Viewer})
	s.token, _, errs[1] = b.Tokens.Mint(s.ctx, newToken("program"+s.tag, s.ann.ID, 0))
	s.team, errs[2] = b.Teams.Create(s.ctx, "team"+s.tag)
	s.org, errs[3] = b.Orgs.Create(s.ctx, "org"+s.tag)
	_, errs[4] = b.Teams.AddMember(s.ctx, s.team.ID, s.ann.ID)
	_, errs[5] = b.Orgs.PutMember(s.ctx, s.org.ID, s.ann.ID, identity.OrgMember)
	s.grant, _, errs[6] = b.Grants.Create(s.ctx, identity.UserSubject(s.ann.ID), "queue:q"+s.tag, access.Use)
	eve, err := b.Federation.Admit(s.out, external(identity.OIDC, "known"+s.tag, "eve"+s.tag, "ops"))
	errs[7] = err
	s.eve, errs[8] = b.Accounts.Get(s.ctx, eve.User.ID)
	s.bares, _, errs[9] = b.Tokens.Mint(s.ctx, newToken("bare"+s.tag, s.bare.ID, 0))
	for _, err := range errs {
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.login(s.ann.Username, secret)
	s.session = b.login(s.ann.Username, secret)
	b.entries()
	return s
}

// state is all that the install knows of who may enter and what they may do.
func (b *bundle) state() string {
	b.t.Helper()
	ctx, w := b.t.Context(), page.Window{}
	var all strings.Builder
	show := func(v any, _ int, err error) {
		if err != nil {
			b.t.Fatal(err)
		}
		_, _ = fmt.Fprintf(&all, "%+v\n", v)
	}
	accounts, n, err := b.Accounts.List(ctx, w)
	show(accounts, n, err)
	for _, a := range accounts {
		_, hash, err := b.store.UserByName(ctx, a.Username)
		show([]any{hash, a.Profile.FullName, a.Profile.Email}, 0, err)
	}
	tokens, n, err := b.Tokens.List(ctx, w)
	show(tokens, n, err)
	teams, n, err := b.Teams.List(ctx, w)
	show(teams, n, err)
	for _, t := range teams {
		list, n, err := b.Teams.Members(ctx, t.ID, w)
		show(list, n, err)
	}
	orgs, n, err := b.Orgs.List(ctx, w)
	show(orgs, n, err)
	for _, o := range orgs {
		list, n, err := b.Orgs.Members(ctx, o.ID, w)
		show(list, n, err)
	}
	grants, n, err := b.Grants.List(ctx, identity.GrantFilter{}, w)
	show(grants, n, err)
	return all.String()
}

// TestEveryChangeIsRecordedOnce calls all that changes something and compares the one entry of it.
func TestEveryChangeIsRecordedOnce(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		for i, c := range changes() {
			s, what := b.scene(i), c.method+" "+c.what
			want, _, err := c.do(b, s)
			if c.denied == nil && err != nil || c.denied != nil && !c.denied(err) {
				t.Fatalf("%s: %v", what, err)
			}
			got := b.one(what)
			want.Action = c.action
			if want.By == nil { // it is the caller
				want.By = got.By
			}
			if diff := cmp.Diff(want, got.Entry, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: the entry is another one (-want +got):\n%s", what, diff)
			}
			if (got.outcome() == audit.Applied) != (c.denied == nil) {
				t.Errorf("%s: outcome %s", what, got.outcome())
			}
		}
	})
}

// TestWithoutAnEntryNothingIsDone makes the recording fail at once, and at the end of the unit.
func TestWithoutAnEntryNothingIsDone(t *testing.T) {
	onEachEngine(t, rules(), func(t *testing.T, b *bundle) {
		lost := audit.Unrecorded.New("the trail is full")
		var s *scene
		var before string
		for i, c := range changes() {
			// Several changes share a scene, since none may leave anything behind. More guesses at one name would be throttled.
			if i%8 == 0 {
				s = b.scene(i)
				before = b.state()
			}
			what := c.method + " " + c.what
			for at, fail := range map[string][2]error{"at once": {lost, nil}, "at the end": {nil, lost}} {
				b.trail.Fail(fail[0], fail[1])
				_, bearer, err := c.do(b, s)
				b.trail.Fail(nil, nil)
				if !audit.Unrecorded.Is(err) || !fault.Is(err, fault.Unavailable) {
					t.Errorf("%s, failing %s: %v", what, at, err)
				}
				if bearer != "" {
					t.Errorf("%s, failing %s: a secret is shown", what, at)
				}
				if after := b.state(); after != before {
					t.Errorf("%s, failing %s: something is kept:\n%s", what, at, cmp.Diff(before, after))
				}
			}
			if list := b.entries(); len(list) != 0 {
				t.Errorf("%s: %d entries of nothing", what, len(list))
			}
		}
	})
}

// TestEveryMethodIsInTheTable reads the contract: what it adds has to be among the changes, or among what is quiet.
func TestEveryMethodIsInTheTable(t *testing.T) {
	t.Parallel()
	known := quiet()
	for _, c := range changes() {
		if _, both := quiet()[c.method]; both {
			t.Errorf("%s is told to record and to be quiet", c.method)
		}
		known[c.method] = "records"
	}
	declared := drivingMethods(t)
	for _, m := range declared {
		if known[m] == "" {
			t.Errorf("%s is neither among the changes nor among what records nothing", m)
		}
		delete(known, m)
	}
	if len(known) != 0 || len(declared) < 40 {
		t.Errorf("%d methods; the contract has none of %v", len(declared), slices.Sorted(maps.Keys(known)))
	}
}

// drivingMethods lists the methods of the interfaces of ports/identity that are called from outside: all but those of
// stores and of the hasher.
func drivingMethods(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../ports/identity/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			role, ok := spec.Type.(*ast.InterfaceType)
			if !ok || strings.HasSuffix(spec.Name.Name, "Store") || spec.Name.Name == "Hasher" {
				return true
			}
			for _, m := range role.Methods.List {
				if len(m.Names) == 0 {
					t.Errorf("%s embeds another role, which this test does not follow", spec.Name.Name)
				}
				for _, id := range m.Names {
					out = append(out, spec.Name.Name+"."+id.Name)
				}
			}
			return true
		})
	}
	return out
}

// TestFirstStartIsRecorded: the account and its token have an entry each, once, whoever else starts at the same time.
func TestFirstStartIsRecorded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for _, fail := range [][2]error{{audit.Unrecorded.New("full"), nil}, {nil, audit.Unrecorded.New("full")}} {
			b.trail.Fail(fail[0], fail[1])
			bearer, err := b.Bootstrap.EnsureAdmin(t.Context(), true)
			b.trail.Fail(nil, nil)
			if n, counted := b.store.CountAccounts(t.Context()); bearer != "" || !audit.Unrecorded.Is(err) || n != 0 ||
				counted != nil {
				t.Errorf("unrecorded: %v, %d accounts, %v", err, n, counted)
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := b.Bootstrap.EnsureAdmin(t.Context(), true); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		admin, err := b.Accounts.ByName(t.Context(), "admin")
		if err != nil {
			t.Fatal(err)
		}
		tokens, _, err := b.Tokens.List(t.Context(), page.Window{})
		if err != nil || len(tokens) != 1 {
			t.Fatalf("%+v %v", tokens, err)
		}
		by := &actor.Actor{Type: actor.System, Name: "system"}
		want := []audit.Entry{
			{Action: audit.UserCreate, Object: userObject(admin.User), By: by,
				Detail: map[string]any{"role": "admin", "password_set": false, "identities": 0}},
			{Action: audit.TokenCreate, Object: object("token", tokens[0].ID, "first start"), By: by,
				Detail: map[string]any{"user_id": admin.ID, "kind": "api"}},
		}
		if diff := cmp.Diff(want, b.trail.Take()); diff != "" {
			t.Error(diff)
		}
	})
}
