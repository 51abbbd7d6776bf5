package identity_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// fake is the smallest store of callers and tokens that tells what it was asked. The roles that it only embeds are
// there and unused.
type fake struct {
	identity.AccountStore
	identity.TokenStore
	identity.HandshakeStore
	identity.TeamStore
	identity.OrgStore
	identity.GrantStore
	identity.ObjectStore
	identity.RightsStore

	mu      sync.Mutex
	users   []identity.User
	tokens  map[[32]byte]identity.Token
	touched map[string]time.Time
	lookups int
	fail    error
}

func (f *fake) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, hooks := tx.WithHooks(ctx)
	if err := fn(ctx); err != nil {
		return err
	}
	if err := hooks.Finish(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

func (f *fake) New(p ids.Prefix) string { return string(p) + strings.Repeat("0", 26) }

func (f *fake) InsertAccount(_ context.Context, a identity.Account, _ string) error {
	f.users = append(f.users, a.User)
	return f.fail
}

func (f *fake) CountAccounts(context.Context) (int, error) { return len(f.users), nil }

func (f *fake) InsertToken(_ context.Context, t identity.Token, h [32]byte) error {
	f.tokens[h] = t
	return nil
}

func (f *fake) TokenByHash(_ context.Context, h [32]byte) (identity.Bearer, error) {
	f.lookups++
	if f.fail != nil {
		return identity.Bearer{}, f.fail
	}
	t, ok := f.tokens[h]
	if !ok {
		return identity.Bearer{}, identity.TokenNotFound.New("no token")
	}
	return identity.Bearer{Token: t, User: f.users[0], Version: 7}, nil
}

func (f *fake) Caller(_ context.Context, id, tokenID string) (identity.Bearer, error) {
	i := slices.IndexFunc(f.users, func(u identity.User) bool { return u.ID == id })
	if i < 0 || f.fail != nil {
		return identity.Bearer{}, errors.Join(f.fail, identity.UserNotFound.New("no account"))
	}
	for _, t := range f.tokens {
		if t.ID == tokenID {
			return identity.Bearer{Token: t, User: f.users[i], Version: 9}, nil
		}
	}
	return identity.Bearer{}, identity.TokenNotFound.New("no token")
}

func (f *fake) UserByName(context.Context, string) (identity.User, string, error) {
	if len(f.users) == 0 || f.fail != nil {
		return identity.User{}, "", errors.Join(f.fail, identity.UserNotFound.New("no account"))
	}
	return f.users[0], "", nil
}

func (f *fake) UserByLink(context.Context, identity.Link) (identity.User, error) {
	return identity.User{}, identity.UserNotFound.New("no account")
}

func (f *fake) TouchTokens(_ context.Context, m map[string]time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, v := range m {
		f.touched[k] = v
	}
	return nil
}

func overFake(t *testing.T, cfg module.Config) (*fake, module.Result) {
	t.Helper()
	f := &fake{tokens: map[[32]byte]identity.Token{}, touched: map[string]time.Time{}}
	res, err := module.New(module.Params{
		Config: cfg, Hasher: &hasher{}, Authorizer: &byRole{}, Recorder: &audittest.Recorder{FillBy: true},
		Accounts: f, Callers: f, Tokens: f, Uses: f, Handshakes: f,
		Teams: f, Orgs: f, Grants: f, Objects: f, Rights: f,
		Unit: f, IDs: f, Log: slog.New(slog.DiscardHandler),
		Clock: &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, res
}

// TestMalformedTokensCostNothing keeps made-up tokens from the store, and a store that fails from being told as a bad
// token.
func TestMalformedTokensCostNothing(t *testing.T) {
	t.Parallel()
	f, m := overFake(t, module.Config{})
	bearer, err := m.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "x", bearer + "x", bearer[:20], strings.ToLower(bearer),
		"writ_" + strings.Repeat("A", 32) + "_AAAAAA"} {
		if _, err := m.Authenticator.Authenticate(t.Context(), bad); !identity.BadToken.Is(err) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, _, err := m.SignIn.Check(t.Context(), bad); !identity.BadToken.Is(err) {
			t.Errorf("check of %q: %v", bad, err)
		}
	}
	if f.lookups != 0 {
		t.Errorf("malformed tokens cost %d reads", f.lookups)
	}
	p, err := m.Authenticator.Authenticate(t.Context(), bearer)
	if err != nil || p.Version != 7 || f.lookups != 1 {
		t.Errorf("%+v %v after %d reads", p, err, f.lookups)
	}
	tokenID := p.TokenID
	if p, err = m.Authenticator.Account(t.Context(), f.users[0].ID, tokenID); err != nil || p.Version != 9 ||
		p.User != f.users[0] || p.TokenID != tokenID {
		t.Errorf("%+v %v", p, err)
	}
	for _, bad := range [][2]string{{"usr_gone", tokenID}, {f.users[0].ID, "tok_gone"}, {f.users[0].ID, ""},
		{"", tokenID}} {
		if _, err := m.Authenticator.Account(t.Context(), bad[0], bad[1]); !identity.BadToken.Is(err) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	f.fail = errors.New("the disk is gone")
	if _, err := m.Authenticator.Authenticate(t.Context(), bearer); identity.BadToken.Is(err) || !errors.Is(err, f.fail) {
		t.Errorf("a store that fails is told as a bad token: %v", err)
	}
}

func TestFirstStartThatIsLostOrFails(t *testing.T) {
	t.Parallel()
	f, m := overFake(t, module.Config{})
	f.fail = &fault.Error{Kind: fault.Conflict}
	if bearer, err := m.Bootstrap.EnsureAdmin(t.Context(), true); bearer != "" || err != nil {
		t.Errorf("the server that lost the race: %q %v", bearer, err)
	}
	f, m = overFake(t, module.Config{})
	f.fail = errors.New("the disk is gone")
	if _, err := m.Bootstrap.EnsureAdmin(t.Context(), true); !errors.Is(err, f.fail) {
		t.Errorf("%v", err)
	}
}

func TestUseIsWrittenAtStop(t *testing.T) {
	t.Parallel()
	f, m := overFake(t, module.Config{})
	bearer, err := m.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	m.Background.Start()
	if _, _, err := m.SignIn.Check(t.Context(), bearer); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	if len(f.touched) != 0 {
		t.Errorf("a check counts as a use: %v", f.touched)
	}
	f.mu.Unlock()
	if _, err := m.Authenticator.Authenticate(t.Context(), bearer); err != nil {
		t.Fatal(err)
	}
	if err := m.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(f.touched) != 1 {
		t.Errorf("touched %v", f.touched)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for at, cfg := range map[string]module.Config{
		"session-ttl":       {SessionTTL: -1},
		"oidc-default-role": {Rules: map[identity.Protocol]module.RoleRule{identity.OIDC: {Default: "root"}}},
		"saml-role-map": {Rules: map[identity.Protocol]module.RoleRule{
			identity.SAML: {Groups: map[string]identity.Role{"ops": ""}},
		}},
		"rules": {Rules: map[identity.Protocol]module.RoleRule{"ldap": {Default: identity.Viewer}}},
	} {
		if err := cfg.Validate(); !invalid(err) || field(err) != at {
			t.Errorf("%s: %v", at, err)
		}
	}
}
