package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hands is a clock that the test moves.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *hands) move(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.now = h.now.Add(d) }

// hasher is quick, and counts what the real one would make slow. A hash of it is outdated where it begins with "old".
type hasher struct {
	hashed, verified atomic.Int64
	during           atomic.Pointer[func()] // runs in the middle of the next verification
	hashing          atomic.Pointer[func()] // runs in the middle of the next hashing
	fail             atomic.Pointer[error]
}

func digest(p identity.Password) string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:])
}

func (h *hasher) Hash(ctx context.Context, p identity.Password) (string, error) {
	h.hashed.Add(1)
	if fn := h.hashing.Swap(nil); fn != nil {
		(*fn)()
	}
	if err := h.fail.Load(); err != nil {
		return "", *err
	}
	return "new$" + digest(p), ctx.Err()
}

func (h *hasher) Verify(ctx context.Context, p identity.Password, hash string) (ok, outdated bool, err error) {
	h.verified.Add(1)
	if fn := h.during.Swap(nil); fn != nil {
		(*fn)()
	}
	if err := h.fail.Load(); err != nil {
		return false, false, *err
	}
	version, sum, _ := strings.Cut(hash, "$")
	return sum == digest(p), version == "old", ctx.Err()
}

// byRole is an authorizer that knows global roles alone; what it is asked is kept.
type byRole struct {
	mu    sync.Mutex
	asked []identity.Need
	err   error
}

func (b *byRole) Authorize(_ context.Context, p identity.Principal, n identity.Need) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, n)
	if b.err != nil {
		return b.err
	}
	need := map[string]int{"read": 1, "use": 2, "manage": 3}[n.Act]
	if need == 0 || p.User.Role.Rank() < need {
		return identity.NotAllowed.New("not allowed")
	}
	return nil
}

func (b *byRole) Scope(_ context.Context, p identity.Principal) (access.Scope, error) {
	if b.err != nil {
		return access.Everything(), b.err
	}
	return access.Scope{All: p.User.Role == identity.Admin, Subjects: []string{identity.UserSubject(p.User.ID)}}, nil
}

// bundle is the context over a real database.
type bundle struct {
	module.Result
	t      testing.TB
	d      *db.DB
	store  *sqlidentity.Store
	clock  *hands
	hasher *hasher
	authz  *byRole
	log    *lines
	trail  *audittest.Recorder
	params module.Params
}

// lines keeps what was logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count returns how many lines hold all of the words.
func (l *lines) count(parts ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		all := true
		for _, w := range parts {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

func eachEngine(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, module.Config{})) })
}

// onEachEngine is eachEngine with settings.
func onEachEngine(t *testing.T, cfg module.Config, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, cfg)) })
}

func setup(t testing.TB, d *db.DB, cfg module.Config) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlidentity.New(d), hasher: &hasher{}, authz: &byRole{}, log: &lines{},
		trail: &audittest.Recorder{FillBy: true},
		clock: &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	s := b.store
	b.params = module.Params{
		Config:   cfg,
		Accounts: s, Callers: s, Tokens: s, Uses: s, Handshakes: s,
		Teams: s, Orgs: s, Grants: s, Objects: s, Rights: s, Preferences: s,
		Unit: d, Clock: b.clock, IDs: ids.New(b.clock),
		Log:    slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Hasher: b.hasher, Authorizer: b.authz, Recorder: b.trail,
	}
	var err error
	if b.Result, err = module.New(b.params); err != nil {
		t.Fatal(err)
	}
	return b
}

// secret is a password that is long enough.
const secret = identity.Password("correct horse battery")

// account makes an account with a role and a password.
func (b *bundle) account(name string, r identity.Role) identity.Account {
	b.t.Helper()
	a, err := b.Accounts.Create(b.t.Context(), identity.NewAccount{Username: name, Role: r, Password: secret})
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// from is a context of an unknown caller at an address.
func (b *bundle) from(address string) context.Context {
	return actor.With(b.t.Context(), actor.Actor{Type: actor.Anonymous, Name: "anonymous", IP: address})
}

// as is a context of a caller with a token.
func (b *bundle) as(u identity.User, tokenID string) context.Context {
	ctx := actor.With(b.t.Context(), actor.Actor{Type: actor.User, ID: u.ID, Name: u.Username, IP: "192.0.2.9"})
	return identity.With(ctx, identity.Principal{User: u, TokenID: tokenID})
}

func newToken(name, userID string, ttl time.Duration) identity.NewToken {
	return identity.NewToken{Name: name, UserID: userID, TTL: ttl}
}

func (b *bundle) login(name string, p identity.Password) identity.Session {
	b.t.Helper()
	s, err := b.SignIn.Login(b.from("192.0.2.1"), name, p)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// valid reports whether a bearer is let in.
func (b *bundle) valid(bearer string) bool {
	b.t.Helper()
	_, err := b.Authenticator.Authenticate(b.t.Context(), bearer)
	if err != nil && !identity.BadToken.Is(err) {
		b.t.Fatal(err)
	}
	return err == nil
}

func invalid(err error) bool { return fault.Is(err, fault.Invalid) }

// field returns the member that a fault names.
func field(err error) string {
	if f := asFault(err); f != nil && len(f.Fields) > 0 {
		return f.Fields[0].Location
	}
	return ""
}

func asFault(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return nil
}
