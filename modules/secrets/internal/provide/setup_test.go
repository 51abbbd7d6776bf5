package provide_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlsecrets "github.com/writ-automation/writ/adapters/sqlstore/secrets"
	module "github.com/writ-automation/writ/modules/secrets"
	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	port "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// box is a sealer that binds texts to records and hides nothing: sealed texts have a recognizable form.
type box struct {
	mu   sync.Mutex
	lost bool
}

func (b *box) lose() { b.mu.Lock(); defer b.mu.Unlock(); b.lost = true }

func (b *box) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	return []byte(record + "\n" + base64.StdEncoding.EncodeToString(plain)), nil
}

func (b *box) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		return nil, secrets.KeyLost.New("the key of this test was lost")
	}
	of, text, _ := bytes.Cut(sealed, []byte("\n"))
	if string(of) != record {
		return nil, &fault.Error{Kind: fault.Internal, Message: "sealed for another record"}
	}
	return base64.StdEncoding.DecodeString(string(text))
}

// keys unlocks texts with the prefix of a key.
type keys struct{}

func (keys) Unlock(private, _ secret.Text) (secrets.Key, error) {
	if !strings.HasPrefix(private.Reveal(), "KEY ") {
		return secrets.Key{}, fault.BadField("private_key", "is no private key")
	}
	return secrets.Key{PrivateKey: private, Comment: "of a test"}, nil
}

// hands is a clock that the test sets.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *hands) move(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.now = h.now.Add(d) }

// journal stores log messages.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string { j.mu.Lock(); defer j.mu.Unlock(); return j.buf.String() }

// fixture is the context over a real store.
type fixture struct {
	*module.ProviderResult
	t       testing.TB
	d       *db.DB
	store   *sqlsecrets.Store
	clock   *hands
	ids     *ids.Generator
	box     *box
	journal *journal
	engines map[string]extension.Engine
	n       int
}

func eachEngine(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d)) })
}

// onSQLite is a fixture for tests that do not depend on the database.
func onSQLite(t *testing.T) *fixture {
	t.Helper()
	return setup(t, dbtest.Open(t, db.SQLite, migrations.FS))
}

func setup(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{
		t: t, d: d, store: sqlsecrets.New(d), clock: &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}, box: &box{},
		journal: &journal{},
		engines: map[string]extension.Engine{},
	}
	w.ids = ids.New(w.clock)
	w.ProviderResult = w.another(false)
	return w
}

// another returns a second instance of the context over the same store, like another process.
func (w *fixture) another(readOnly bool) *module.ProviderResult {
	w.t.Helper()
	p, err := module.NewProvider(module.ProviderParams{
		Credentials: w.store, Types: w.store, Leases: w.store,
		Unit: w.d, Clock: w.clock, IDs: w.ids, Log: slog.New(slog.NewTextHandler(w.journal, nil)),
		Sealer: w.box, Keys: keys{}, Engines: w.engines, Config: module.Config{ReadOnly: readOnly},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Background.Stop(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return &p
}

// resolve installs an engine that fetches.
func (w *fixture) resolve(name string, fn func(ctx context.Context, config map[string]any) (string, error)) {
	w.engines[name] = extension.Engine{Resolver: extension.SecretResolverFunc(fn)}
}

// add stores a credential and returns its id.
func (w *fixture) add(c secrets.Credential, values secrets.Values, source map[string]any) string {
	w.t.Helper()
	w.n++
	c.Record = object.Record{
		ID: w.ids.New(port.Credential), Name: fmt.Sprintf("credential %d", w.n), CreatedBy: "usr_1", CreatedAt: w.clock.Now(),
		UpdatedAt: w.clock.Now(), Revision: 1,
	}
	c.SecretVersion = 3
	c.HasSecret = len(values) > 0 || c.Source != nil
	doc := envelope.Document{Secret: values, Source: source}
	var sealed []byte
	if !doc.Empty() {
		plain, err := envelope.Encode(doc)
		if err != nil {
			w.t.Fatal(err)
		}
		if sealed, err = w.box.Seal(context.Background(), secrets.CredentialRecord(c.ID, c.SecretVersion),
			plain); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.d.Do(context.Background(), func(ctx context.Context) error {
		return w.store.InsertCredential(ctx, c, sealed)
	}); err != nil {
		w.t.Fatal(err)
	}
	return c.ID
}

// sourced stores a credential with an engine as source and secret members in its config.
func (w *fixture) sourced(kind secrets.Kind, engine string, secretConfig map[string]any) string {
	w.t.Helper()
	return w.add(secrets.Credential{Kind: kind,
		Source: &secrets.Source{Engine: engine, Config: map[string]any{"path": "app"}}}, nil, secretConfig)
}

// typed stores a custom type and returns its id.
func (w *fixture) typed(fields []secrets.Field, in secrets.Injectors) string {
	w.t.Helper()
	w.n++
	ty := secrets.Type{Fields: fields, Inject: in}
	ty.Record = object.Record{
		ID: w.ids.New(port.CredentialType), Name: fmt.Sprintf("type %d", w.n), CreatedBy: "usr_1", CreatedAt: w.clock.Now(),
		UpdatedAt: w.clock.Now(), Revision: 1,
	}
	if err := w.d.Do(context.Background(), func(ctx context.Context) error {
		return w.store.InsertType(ctx, ty)
	}); err != nil {
		w.t.Fatal(err)
	}
	return ty.ID
}

// leases returns the number of stored leases of an owner.
func (w *fixture) leases(o secrets.Owner) int {
	w.t.Helper()
	list, err := w.store.LeasesOf(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list)
}

// mint is an engine that mints secrets and records which of them are valid.
type mint struct {
	mu      sync.Mutex
	n       int
	live    map[string]bool
	broken  error         // error of revocations
	refuses error         // error of mints
	value   string        // returned instead of a number
	forever bool          // without a Revoke function
	plain   bool          // without a handle
	blocked chan struct{} // mints wait for it
	revoked chan string
}

func newMint() *mint { return &mint{live: map[string]bool{}, revoked: make(chan string, 1000)} }

func (m *mint) Mint(_ context.Context, _ map[string]any) (string, *extension.SecretLease, error) {
	m.mu.Lock()
	blocked := m.blocked
	m.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses != nil {
		return "", nil, m.refuses
	}
	m.n++
	handle := fmt.Sprintf("handle-%d", m.n)
	m.live[handle] = true
	revoke := func(context.Context) error { return m.revoke(handle) }
	if m.forever {
		revoke = nil
	}
	l := extension.NewSecretLease("mint", revoke)
	if !m.plain {
		l = l.WithHandle(handle)
	}
	value := fmt.Sprintf("minted-%d", m.n)
	if m.value != "" {
		value = m.value
	}
	return value, l, nil
}

func (m *mint) revoke(handle string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	if m.live[handle] {
		delete(m.live, handle)
		m.revoked <- handle
	}
	return nil
}

func (m *mint) living() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.live) }

func (m *mint) set(fn func()) { m.mu.Lock(); defer m.mu.Unlock(); fn() }

// revoker is a mint that can also revoke by handle.
type revoker struct{ *mint }

func (r revoker) RevokeLease(_ context.Context, config map[string]any, handle string) error {
	if config["path"] != "app" || config["key"] != "canary-config" {
		return io.ErrUnexpectedEOF
	}
	return r.revoke(handle)
}
