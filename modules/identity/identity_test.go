package identity_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is the smallest store that tells what it was asked; the real ones prove their behaviour in their own suite.
type fake struct {
	mu      sync.Mutex
	users   map[string]identity.User
	tokens  map[[32]byte]identity.Token
	touched map[string]time.Time
	lookups int
	fail    error
	n       int
	now     time.Time
}

func newFake() *fake {
	return &fake{users: map[string]identity.User{}, tokens: map[[32]byte]identity.Token{}, touched: map[string]time.Time{},
		now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
}

func (f *fake) Now() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now }
func (f *fake) New(p ids.Prefix) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return string(p) + strings.Repeat("0", 25) + string(rune('a'+f.n))
}
func (f *fake) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
func (f *fake) InsertUser(_ context.Context, u identity.User) error {
	for _, x := range f.users {
		if x.Username == u.Username {
			return &fault.Error{Kind: fault.Conflict, Code: "name_taken"}
		}
	}
	f.users[u.ID] = u
	return f.fail
}
func (f *fake) UserByID(_ context.Context, id string) (identity.User, error) {
	if u, ok := f.users[id]; ok {
		return u, nil
	}
	return identity.User{}, identity.UserNotFound.New("no account")
}
func (f *fake) UserByName(_ context.Context, name string) (identity.User, error) {
	for _, u := range f.users {
		if u.Username == name {
			return u, nil
		}
	}
	return identity.User{}, identity.UserNotFound.New("no account")
}
func (f *fake) CountUsers(context.Context) (int, error) { return len(f.users), f.fail }
func (f *fake) InsertToken(_ context.Context, t identity.Token, h [32]byte) error {
	f.tokens[h] = t
	return f.fail
}
func (f *fake) TokenByHash(_ context.Context, h [32]byte) (identity.Token, identity.User, error) {
	f.lookups++
	if f.fail != nil {
		return identity.Token{}, identity.User{}, f.fail
	}
	t, ok := f.tokens[h]
	if !ok {
		return identity.Token{}, identity.User{}, identity.TokenNotFound.New("no token")
	}
	return t, f.users[t.UserID], nil
}
func (f *fake) ListTokens(context.Context) ([]identity.Token, error) {
	var out []identity.Token
	for _, t := range f.tokens {
		out = append(out, t)
	}
	return out, nil
}
func (f *fake) DeleteToken(_ context.Context, id string) error {
	for h, t := range f.tokens {
		if t.ID == id {
			delete(f.tokens, h)
			return nil
		}
	}
	return identity.TokenNotFound.New("no token")
}
func (f *fake) TouchTokens(_ context.Context, m map[string]time.Time) error {
	for k, v := range m {
		f.touched[k] = v
	}
	return nil
}

func setup(t *testing.T, cfg module.Config) (*fake, module.Result) {
	t.Helper()
	f := newFake()
	res, err := module.New(module.Params{Config: cfg, Store: f, Uses: f, Unit: f, Clock: f, IDs: f, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return f, res
}

var form = regexp.MustCompile(`^writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$`)

func TestFirstStart(t *testing.T) {
	t.Parallel()
	f, res := setup(t, module.Config{})
	secret, err := res.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil || !form.MatchString(secret) {
		t.Fatalf("%q %v", secret, err)
	}
	for range 2 {
		if again, err := res.Bootstrap.EnsureAdmin(t.Context(), true); again != "" || err != nil {
			t.Errorf("a later start made %q, %v", again, err)
		}
	}
	p, err := res.Authenticator.Authenticate(t.Context(), secret)
	if err != nil || p.User.Username != "admin" || p.User.Role != identity.Admin || p.Open || p.TokenID == "" {
		t.Errorf("%+v %v", p, err)
	}
	list, err := res.Tokens.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "first start" || list[0].CreatedBy != "system" {
		t.Errorf("%+v %v", list, err)
	}
	f.fail = errors.New("the disk is gone")
	if _, err := res.Bootstrap.EnsureAdmin(t.Context(), true); !errors.Is(err, f.fail) {
		t.Errorf("%v", err)
	}
}

func TestFirstStartOpenOrLost(t *testing.T) {
	t.Parallel()
	_, res := setup(t, module.Config{})
	if secret, err := res.Bootstrap.EnsureAdmin(t.Context(), false); secret != "" || err != nil {
		t.Errorf("without minting: %q %v", secret, err)
	}
	if list, _ := res.Tokens.List(t.Context()); len(list) != 0 {
		t.Errorf("%d tokens", len(list))
	}
	lost, res := setup(t, module.Config{})
	lost.fail = &fault.Error{Kind: fault.Conflict}
	if secret, err := res.Bootstrap.EnsureAdmin(t.Context(), true); secret != "" || err != nil {
		t.Errorf("the server that lost the race: %q %v", secret, err)
	}
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	f, res := setup(t, module.Config{})
	secret, err := res.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "x", secret + "x", secret[:20], strings.ToLower(secret), "writ_" + strings.Repeat("A", 32) + "_AAAAAA"} {
		if _, err := res.Authenticator.Authenticate(t.Context(), bad); !identity.BadToken.Is(err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if f.lookups != 0 {
		t.Errorf("malformed tokens cost %d reads", f.lookups)
	}
	_, unknown, err := res.Tokens.Mint(t.Context(), "gone", onlyUser(f), 0)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := res.Tokens.List(t.Context())
	for _, tok := range list {
		if tok.Name == "gone" {
			if err := res.Tokens.Revoke(t.Context(), tok.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := res.Authenticator.Authenticate(t.Context(), unknown); !identity.BadToken.Is(err) {
		t.Errorf("a revoked token: %v", err)
	}
	f.fail = errors.New("the disk is gone")
	if _, err := res.Authenticator.Authenticate(t.Context(), secret); identity.BadToken.Is(err) || !errors.Is(err, f.fail) {
		t.Errorf("a store that fails is told as a bad token: %v", err)
	}
}

func onlyUser(f *fake) string {
	for id := range f.users {
		return id
	}
	return ""
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	f, res := setup(t, module.Config{})
	if _, err := res.Bootstrap.EnsureAdmin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	tok, secret, err := res.Tokens.Mint(t.Context(), "ci", onlyUser(f), time.Hour)
	if err != nil || !tok.ExpiresAt.Equal(f.now.Add(time.Hour)) {
		t.Fatalf("%+v %v", tok, err)
	}
	if _, err := res.Authenticator.Authenticate(t.Context(), secret); err != nil {
		t.Error(err)
	}
	f.now = f.now.Add(time.Hour)
	if _, err := res.Authenticator.Authenticate(t.Context(), secret); !identity.BadToken.Is(err) {
		t.Errorf("at its expiry: %v", err)
	}
}

func TestMint(t *testing.T) {
	t.Parallel()
	f, res := setup(t, module.Config{})
	if _, err := res.Bootstrap.EnsureAdmin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	admin := f.users[onlyUser(f)]
	viewer := identity.User{ID: "usr_viewer", Username: "vic", Role: identity.Viewer}
	f.users[viewer.ID] = viewer
	as := func(u identity.User) context.Context {
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: u.ID, Name: u.Username})
		return identity.With(ctx, identity.Principal{User: u})
	}
	anonymous := actor.With(t.Context(), actor.Actor{Type: actor.Anonymous})
	for name, c := range map[string]struct {
		ctx    context.Context
		user   string
		name   string
		ttl    time.Duration
		owner  string
		expect func(error) bool
	}{
		"own":            {ctx: as(viewer), owner: viewer.ID},
		"own, named":     {ctx: as(viewer), user: viewer.ID, owner: viewer.ID},
		"another's":      {ctx: as(viewer), user: admin.ID, expect: identity.NotAllowed.Is},
		"admin's":        {ctx: as(admin), user: viewer.ID, owner: viewer.ID},
		"system":         {ctx: t.Context(), user: viewer.ID, owner: viewer.ID},
		"system, nobody": {ctx: t.Context(), expect: invalid},
		"anonymous":      {ctx: anonymous, user: viewer.ID, expect: identity.NotAllowed.Is},
		"unknown":        {ctx: as(admin), user: "usr_none", expect: identity.UserNotFound.Is},
		"long name":      {ctx: as(admin), name: strings.Repeat("é", 201), expect: invalid},
		"line break":     {ctx: as(admin), name: "a\nb", expect: invalid},
		"past":           {ctx: as(admin), ttl: -time.Second, expect: invalid},
	} {
		tok, secret, err := res.Tokens.Mint(c.ctx, c.name, c.user, c.ttl)
		if c.expect != nil {
			if !c.expect(err) || secret != "" {
				t.Errorf("%s: %q %v", name, secret, err)
			}
			continue
		}
		if err != nil || tok.UserID != c.owner || !form.MatchString(secret) {
			t.Errorf("%s: %+v %v", name, tok, err)
		}
	}
	if err := res.Tokens.Revoke(t.Context(), "tok_none"); !identity.TokenNotFound.Is(err) {
		t.Errorf("revoke of nothing: %v", err)
	}
}

func invalid(err error) bool { return fault.Is(err, fault.Invalid) }

func TestOpen(t *testing.T) {
	t.Parallel()
	_, res := setup(t, module.Config{Open: true})
	for range 2 {
		p, err := res.Authenticator.Authenticate(t.Context(), "whatever")
		if err != nil || !p.Open || p.User.Role != identity.Admin || p.User.Username != "admin" {
			t.Fatalf("%+v %v", p, err)
		}
		if _, err := res.Bootstrap.EnsureAdmin(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if p, _ := res.Authenticator.Authenticate(t.Context(), ""); p.User.ID == "" {
		t.Error("the admin account is not used")
	}
}

func TestUseIsWrittenAtStop(t *testing.T) {
	t.Parallel()
	f, res := setup(t, module.Config{})
	secret, err := res.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	res.Uses.Start()
	if _, err := res.Authenticator.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	res.Uses.Stop()
	if len(f.touched) != 1 {
		t.Errorf("touched %v", f.touched)
	}
	if _, err := module.New(module.Params{}); err == nil {
		t.Error("missing dependencies are accepted")
	}
}
