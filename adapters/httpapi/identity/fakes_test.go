package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const (
	userID = "usr_01k0a0000vtx5zk9w2m4n6p8rs"
	secret = "writ_N3wS3cretN3wS3cretN3wS3cretN3wS_abc123"
	good   = "correct horse battery staple"
)

var (
	past  = time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC)
	until = time.Date(2036, 1, 5, 20, 30, 0, 0, time.UTC)
)

// fakeModule fakes the identity module. It has one object of each kind, all with the id "known", and records its
// calls.
type fakeModule struct {
	mu    sync.Mutex
	err   error // the error of every call, if set
	asked []any
	first bool // the result first of creating a grant
	open  bool
	never bool // tokens do not expire
	actor actor.Actor
}

func (s *fakeModule) ask(ctx context.Context, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.actor = args, actor.From(ctx)
	return s.err
}

// find returns the fault unless the id is known.
func (s *fakeModule) find(ctx context.Context, code fault.Code, id string, args ...any) error {
	if err := s.ask(ctx, append([]any{id}, args...)...); err != nil {
		return err
	}
	if id != "known" {
		return code.New("no object %q", id)
	}
	return nil
}

func (s *fakeModule) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeModule) last() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func user() identity.User {
	return identity.User{ID: userID, Username: "alex", Role: identity.Operator}
}

func (s *fakeModule) token() identity.Token {
	t := identity.Token{ID: "known", Kind: identity.APIToken, Name: "ci", UserID: userID, Username: "alex",
		CreatedAt: past, CreatedBy: "usr_admin", ExpiresAt: until}
	if s.never {
		t.ExpiresAt = time.Time{}
	}
	return t
}

func session() identity.Session {
	return identity.Session{Token: identity.Token{Kind: identity.SessionToken, ExpiresAt: until}, Secret: secret,
		User: user()}
}

type signIn struct{ *fakeModule }

func (f signIn) Login(ctx context.Context, username string, p identity.Password) (identity.Session, error) {
	if err := f.ask(ctx, username, string(p)); err != nil {
		return identity.Session{}, err
	}
	if username != "alex" || p != good {
		return identity.Session{}, identity.BadLogin.New("the name or the password is wrong")
	}
	return session(), nil
}

func (f signIn) Check(ctx context.Context, bearer string) (identity.Token, identity.User, error) {
	if err := f.ask(ctx, bearer); err != nil {
		return identity.Token{}, identity.User{}, err
	}
	if bearer != secret {
		return identity.Token{}, identity.User{}, identity.BadToken.New("the token is unknown, expired or revoked")
	}
	return f.token(), user(), nil
}

func (f signIn) Logout(ctx context.Context) error {
	p, _ := identity.From(ctx)
	return f.ask(ctx, p.TokenID)
}

func (f signIn) ChangePassword(ctx context.Context, current, next identity.Password) error {
	return f.ask(ctx, string(current), string(next))
}

type self struct{ *fakeModule }

func (f self) Me(ctx context.Context) (identity.Me, error) {
	t := f.token()
	m := identity.Me{
		User: user(), Token: &t, Teams: []identity.Team{{ID: "team_1", Name: "web"}}, Open: f.open,
		Orgs:        []identity.Membership{{Org: identity.Org{ID: "org_1", Name: "retail"}, Role: identity.OrgAdmin}},
		Permissions: []identity.Need{{Kind: "run", Act: "read"}, {Kind: "*", Act: "*"}},
	}
	if f.open {
		m.Token, m.Teams, m.Orgs, m.Permissions = nil, nil, nil, nil
	}
	return m, f.ask(ctx)
}

type tokens struct{ *fakeModule }

func (f tokens) Mint(ctx context.Context, n identity.NewToken) (identity.Token, string, error) {
	t := f.token()
	if len(n.Scopes) > 0 {
		t.Scopes, t.Networks, t.ParentID = n.Scopes, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, "tok_1"
	}
	return t, secret, f.ask(ctx, n)
}

func (f tokens) Get(ctx context.Context, id string) (identity.Token, error) {
	return f.token(), f.find(ctx, identity.TokenNotFound, id)
}

func (f tokens) List(ctx context.Context, w page.Window) ([]identity.Token, int, error) {
	return []identity.Token{f.token()}, 7, f.ask(ctx, w)
}

func (f tokens) Revoke(ctx context.Context, id string) error {
	return f.find(ctx, identity.TokenNotFound, id, "deleted")
}

type accounts struct{ *fakeModule }

func account() identity.Account {
	return identity.Account{
		User: identity.User{ID: "known", Username: "alex", Role: identity.Operator, CreatedAt: past}, HasPassword: true,
		UpdatedAt: past, Revision: 3,
		Profile: identity.Profile{FullName: "Alex", Email: "a@example.com", Phone: "1", Title: "t",
			Links: []string{"https://x.test"}, Notes: "n"},
		Identities: []identity.Link{{Protocol: identity.SAML, Issuer: "https://id.test", Subject: "s"}},
	}
}

func (f accounts) Create(ctx context.Context, n identity.NewAccount) (identity.Account, error) {
	return account(), f.ask(ctx, n)
}

func (f accounts) Get(ctx context.Context, id string) (identity.Account, error) {
	return account(), f.find(ctx, identity.UserNotFound, id)
}

func (f accounts) ByName(context.Context, string) (identity.Account, error) {
	return identity.Account{}, errors.New("no route asks by name")
}

func (f accounts) List(ctx context.Context, w page.Window) ([]identity.Account, int, error) {
	return []identity.Account{account()}, 7, f.ask(ctx, w)
}

func (f accounts) Update(
	ctx context.Context, id string, revision int64, c identity.AccountChange,
) (identity.Account, error) {
	return account(), f.revised(ctx, id, revision, c)
}

func (f accounts) Delete(ctx context.Context, id string, revision int64) error {
	return f.revised(ctx, id, revision, "deleted")
}

func (f accounts) revised(ctx context.Context, id string, revision int64, what any) error {
	if err := f.find(ctx, identity.UserNotFound, id, revision, what); err != nil {
		return err
	}
	if revision != 0 && revision != 3 {
		return identity.RevisionChanged.New("the account changed")
	}
	return nil
}

type teams struct{ *fakeModule }

func team() identity.Team {
	return identity.Team{ID: "known", Name: "web", CreatedAt: past, CreatedBy: "usr_admin"}
}

func (f teams) Create(ctx context.Context, name string) (identity.Team, error) {
	return team(), f.ask(ctx, name)
}

func (f teams) Get(ctx context.Context, id string) (identity.Team, error) {
	return team(), f.find(ctx, identity.TeamNotFound, id)
}

func (f teams) List(ctx context.Context, w page.Window) ([]identity.Team, int, error) {
	return []identity.Team{team()}, 7, f.ask(ctx, w)
}

func (f teams) Delete(ctx context.Context, id string) error {
	return f.find(ctx, identity.TeamNotFound, id, "deleted")
}

func (f teams) AddMember(ctx context.Context, id, user string) (identity.Member, error) {
	return identity.Member{UserID: user, Username: "alex", AddedAt: past}, f.find(ctx, identity.TeamNotFound, id, user)
}

func (f teams) Members(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	return []identity.Member{{UserID: userID, Username: "alex", AddedAt: past}}, 7,
		f.find(ctx, identity.TeamNotFound, id, w)
}

func (f teams) RemoveMember(ctx context.Context, id, user string) error {
	return f.find(ctx, identity.TeamNotFound, id, user, "removed")
}

type orgs struct{ *fakeModule }

func org() identity.Org { return identity.Org(team()) }

func (f orgs) Create(ctx context.Context, name string) (identity.Org, error) {
	return org(), f.ask(ctx, name)
}

func (f orgs) Get(ctx context.Context, id string) (identity.Org, error) {
	return org(), f.find(ctx, identity.OrgNotFound, id)
}

func (f orgs) List(ctx context.Context, w page.Window) ([]identity.Org, int, error) {
	return nil, 0, f.ask(ctx, w)
}

func (f orgs) Delete(ctx context.Context, id string) error {
	return f.find(ctx, identity.OrgNotFound, id, "deleted")
}

func (f orgs) PutMember(ctx context.Context, id, user string, r identity.OrgRole) (identity.Member, error) {
	return identity.Member{UserID: user, Username: "alex", Role: r, AddedAt: past},
		f.find(ctx, identity.OrgNotFound, id, user, r)
}

func (f orgs) Members(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	m := identity.Member{UserID: userID, Username: "alex", Role: identity.OrgMember, AddedAt: past}
	return []identity.Member{m}, 7, f.find(ctx, identity.OrgNotFound, id, w)
}

func (f orgs) RemoveMember(ctx context.Context, id, user string) error {
	return f.find(ctx, identity.OrgNotFound, id, user, "removed")
}

type grants struct{ *fakeModule }

func grant() identity.Grant {
	return identity.Grant{ID: "known", Subject: "user:" + userID, Object: "queue:web", Level: access.Use, CreatedAt: past,
		CreatedBy: "usr_admin"}
}

func (f grants) Create(ctx context.Context, subject, object string, l access.Level) (identity.Grant, bool, error) {
	return grant(), f.first, f.ask(ctx, subject, object, l)
}

func (f grants) Get(ctx context.Context, id string) (identity.Grant, error) {
	return grant(), f.find(ctx, identity.GrantNotFound, id)
}

func (f grants) List(ctx context.Context, q identity.GrantFilter, w page.Window) ([]identity.Grant, int, error) {
	return []identity.Grant{grant()}, 7, f.ask(ctx, q, w)
}

func (f grants) Delete(ctx context.Context, id string) error {
	return f.find(ctx, identity.GrantNotFound, id, "deleted")
}

// provider accepts the answer "code=good" with its binding. A SAML provider accepts it without one if unbound is set.
type provider struct {
	*fakeModule
	protocol identity.Protocol
}

func (f provider) crosses() bool { return f.protocol == identity.SAML }

func (f provider) Begin(ctx context.Context) (identity.Challenge, error) {
	return identity.Challenge{URL: "https://id.test/authorize?state=s", State: "s", Binding: "b1nding",
		CrossSite: f.crosses()}, f.ask(ctx)
}

func (f provider) Complete(
	ctx context.Context, answer url.Values, binding string, unbound bool,
) (identity.External, error) {
	if err := f.ask(ctx, answer, binding, unbound); err != nil {
		return identity.External{}, err
	}
	if answer.Get("code") != "good" || binding != "b1nding" && !(f.crosses() && unbound) {
		return identity.External{}, identity.BadSignIn.New("the sign-in did not succeed").
			Because(errors.New("CAUSE of the provider"))
	}
	return identity.External{Link: identity.Link{Protocol: f.protocol}}, nil
}

func (f provider) Metadata(ctx context.Context) ([]byte, error) {
	return []byte("<EntityDescriptor/>"), f.ask(ctx)
}

type federation struct {
	mu  sync.Mutex
	err error
	via identity.Protocol
}

func (f *federation) Admit(_ context.Context, e identity.External) (identity.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.via = e.Link.Protocol
	return session(), f.err
}

// beginnings counts sign-ins and returns the configured error.
type beginnings struct {
	mu  sync.Mutex
	err error
	ips []string
}

func (f *beginnings) Begin(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ips = append(f.ips, actor.From(ctx).IP)
	return f.err
}

type preferences struct{ *fakeModule }

func (f preferences) Preferences(ctx context.Context) (identity.Preferences, error) {
	return identity.Preferences{Document: json.RawMessage(`{"n":12345678901234567890}`), Revision: 3}, f.ask(ctx)
}

func (f preferences) SavePreferences(
	ctx context.Context, document json.RawMessage, revision int64,
) (identity.Preferences, error) {
	return identity.Preferences{Document: document, Revision: 4}, f.ask(ctx, string(document), revision)
}

type shared struct{ *fakeModule }

func (f shared) Preferences(ctx context.Context, _ string) (identity.Preferences, error) {
	return preferences{f.fakeModule}.Preferences(ctx)
}

func (f shared) SavePreferences(
	ctx context.Context, team string, document json.RawMessage, revision int64,
) (identity.Preferences, error) {
	if team == "team_2" {
		return identity.Preferences{}, identity.TeamNotFound.New("no team %q", team)
	}
	return preferences{f.fakeModule}.SavePreferences(ctx, document, revision)
}

func (f shared) Shared(ctx context.Context) ([]identity.SharedPreferences, error) {
	return nil, f.ask(ctx)
}
