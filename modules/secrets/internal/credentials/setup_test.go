package credentials_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlsecrets "github.com/writ-automation/writ/adapters/sqlstore/secrets"
	module "github.com/writ-automation/writ/modules/secrets"
	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the value of secrets.
const canary = "hunter2-do-not-tell"

// window is the first page.
var window = page.Window{Limit: 100}

// hands is a clock that advances a second at every read.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(time.Second)
	return h.now
}

// bundle is the service over a real database.
type bundle struct {
	module.Result

	t      testing.TB
	d      *db.DB
	store  *sqlsecrets.Store
	usage  *sqlcatalog.Store
	rights *sqlidentity.Store
	ids    *ids.Generator
	trail  *audittest.Recorder
	guard  *guard
	runs   *requests
	sealer *sealer
	log    *strings.Builder
	params module.Params
}

func eachEngine(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d)) })
}

// onSQLite opens SQLite, for tests that do not depend on the database.
func onSQLite(t *testing.T) *bundle {
	t.Helper()
	return setup(t, dbtest.Open(t, db.SQLite, migrations.FS))
}

func setup(t testing.TB, d *db.DB) *bundle {
	t.Helper()
	clock := &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	b := &bundle{
		t: t, d: d, store: sqlsecrets.New(d), usage: sqlcatalog.New(d), rights: sqlidentity.New(d), ids: ids.New(clock),
		trail: &audittest.Recorder{}, guard: newGuard(), runs: &requests{}, sealer: newSealer(t), log: &strings.Builder{},
	}
	b.params = module.Params{
		Unit: d, Clock: clock, IDs: b.ids, Log: slog.New(slog.NewTextHandler(b.log, nil)), Recorder: b.trail, Store: b.store,
		Types:  b.store,
		Sealer: b.sealer, Keys: keys{}, Engines: engines(), Objects: objects{b.rights, d}, Guard: b.guard, Owners: b.guard,
		Usage: b.usage, Runs: b.runs,
	}
	k, err := module.New(b.params)
	if err != nil {
		t.Fatal(err)
	}
	b.Result = k
	return b
}

// objects adapts the store as the identity context does.
type objects struct {
	store *sqlidentity.Store
	d     *db.DB
}

func (o objects) Put(ctx context.Context, x identity.Object) error {
	return o.d.Do(ctx, func(ctx context.Context) error { return o.store.PutObject(ctx, x) })
}

func (o objects) Remove(ctx context.Context, id string) error {
	return o.d.Do(ctx, func(ctx context.Context) error { return o.store.RemoveObject(ctx, id) })
}

// keys is a fake reader of keys: texts that begin with KEY are keys, and LOCKED ones need canary as passphrase.
type keys struct{}

func (keys) Unlock(private, passphrase secretText) (secrets.Key, error) {
	switch text := private.Reveal(); {
	case strings.HasPrefix(text, "KEY"):
	case !strings.HasPrefix(text, "LOCKED"):
		return secrets.Key{}, fault.BadField("private_key", "is no private key")
	case passphrase != canary:
		return secrets.Key{}, fault.BadField("passphrase", "is missing or wrong")
	}
	return secrets.Key{PrivateKey: private}, nil
}

// engine is a fake engine that describes its config.
type engine struct{ extension.SecretResolver }

func (engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "address", Required: true}, {Name: "path"}, {Name: "version"},
		{Name: "token", Secret: true}, {Name: "other", Secret: true}}
}

// ValidateConfig repeats the whole config in its error if the path requires it, which an engine should not do.
func (engine) ValidateConfig(config map[string]any) error {
	switch config["path"] {
	case "tell":
		token, _ := config["token"].(string)
		return &extension.ConfigError{Field: "path", Message: "does not go with " + token}
	case "fail":
		return errors.New("no sense in " + canary)
	}
	if _, ok := config["token"].(string); !ok {
		return &extension.ConfigError{Field: "token", Message: "is required"}
	}
	if v, ok := config["version"].(float64); config["version"] != nil && (!ok || v < 1) {
		return &extension.ConfigError{Field: "version", Message: "has to be a number from 1"}
	}
	return nil
}

func engines() map[string]extension.Engine {
	odd := extension.SecretResolverFunc(func(context.Context, map[string]any) (string, error) { return "", nil })
	return map[string]extension.Engine{"kv": {Resolver: engine{}}, "odd": {Resolver: odd}}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// change returns the input of a caller.
func change(name string, kind secrets.Kind, values secrets.Values) secrets.Change {
	c := secrets.Change{Secret: values}
	c.Name, c.Kind = name, kind
	return c
}

func (b *bundle) create(c secrets.Change) secrets.Credential {
	b.t.Helper()
	got, _, err := b.Credentials.Create(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b *bundle) update(id string, c secrets.Change) secrets.Credential {
	b.t.Helper()
	got, _, err := b.Credentials.Update(b.t.Context(), id, 0, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// opened returns the opened secrets of a credential.
func (b *bundle) opened(id string) envelope.Document {
	b.t.Helper()
	c, sealed, err := b.store.SealedByID(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	if sealed == nil {
		return envelope.Document{}
	}
	plain, err := b.sealer.Open(b.t.Context(), secrets.CredentialRecord(id, c.SecretVersion), sealed)
	if err != nil {
		b.t.Fatal(err)
	}
	return must[envelope.Document](b.t)(envelope.Decode(plain))
}

// custom is a type with a field of every kind.
func custom(name string) secrets.Type {
	t := secrets.Type{
		Fields: []secrets.Field{
			{Name: "user", Label: "User", Type: secrets.Text, Required: true},
			{Name: "region", Type: secrets.Choice, Choices: []string{"eu", "us"}, Default: "eu"},
			{Name: "tls", Type: secrets.Bool, Default: true},
			{Name: "note", Type: secrets.Multiline},
			{Name: "key", Type: secrets.Text, Secret: true, Required: true},
			{Name: "cert", Type: secrets.Multiline, Secret: true},
			{Name: "strict", Type: secrets.Bool, Secret: true},
		},
		Inject: secrets.Injectors{
			Env:       map[string]string{"PAGER_KEY": "{{ key }}", "PAGER_FILE": "{{files.pager.ini}}"},
			Files:     map[string]string{"pager.ini": "key={{key}} {% if %}"},
			ExtraVars: map[string]any{"pager": map[string]any{"user": "{{user}}", "list": []any{"{{region}}", true, nil}}},
		},
	}
	t.Name = name
	return t
}

func (b *bundle) custom(name string) secrets.Type {
	b.t.Helper()
	return must[secrets.Type](b.t)(b.Types.Create(b.t.Context(), custom(name)))
}

func ofType(name, id string, fields map[string]any) secrets.Change {
	c := secrets.Change{}
	c.Name, c.TypeID, c.Fields = name, id, fields
	return c
}

// names makes an object that does not exist reference others.
func (b *bundle) names(owner string, targets ...string) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.usage.Name(ctx, owner, targets)
	}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) org(id string) string {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.rights.InsertOrg(ctx, identity.Org{ID: id, Name: id, CreatedAt: b.params.Clock.Now()})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// field returns the member that a fault refers to.
func field(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Location
	}
	return ""
}

// all returns the stored credentials for comparison.
func (b *bundle) all() []secrets.Credential {
	b.t.Helper()
	list, _, err := b.store.ListCredentials(b.t.Context(), access.Everything(), secrets.Filter{}, window)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}
