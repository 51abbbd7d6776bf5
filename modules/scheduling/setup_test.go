package scheduling_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	module "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// made is the request for a run.
type made struct {
	Template string
	Launch   catalog.Launch
	Run      *runs.Submission
	Pipeline *runs.PipelineSubmission
	Actor    actor.Actor
	Account  string // whose rights it has
}

// fixture fakes the dependencies of the context: by default everything is allowed and succeeds.
type fixture struct {
	audittest.Recorder

	mu      sync.Mutex
	levels  map[string]access.Level // of objects
	orgs    map[string]bool         // of organizations
	absent  map[string]bool         // objects that do not exist
	gone    map[string]bool         // accounts
	scope   access.Scope
	refusal error // of Unattended, Check and CheckPipeline
	fails   error // error of creating runs

	named   map[string][]string
	made    []made
	keys    map[string]string
	checked []string
}

func (w *fixture) set(fn func()) { w.mu.Lock(); defer w.mu.Unlock(); fn() }

func (w *fixture) runs() []made { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.made) }

func (w *fixture) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range objects {
		if l, ok := w.levels[o]; ok && !l.Covers(want) {
			return false, nil
		}
	}
	return true, nil
}

func (w *fixture) Scope(context.Context) (access.Scope, error) { return w.scope, nil }

func (w *fixture) MayWrite(_ context.Context, kind, org string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind != "schedule" && kind != "trigger" {
		return false, fmt.Errorf("nobody keeps a %s", kind)
	}
	may, known := w.orgs[org]
	return may || !known, nil
}

type accountKey struct{}

func (w *fixture) As(ctx context.Context, id string) (context.Context, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone[id] {
		return nil, fault.Missing("user", id)
	}
	return context.WithValue(ctx, accountKey{}, id), nil
}

func (w *fixture) Name(_ context.Context, owner string, targets []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range targets {
		if w.absent[id] {
			return catalog.ObjectNotFound.New("no object %q", id).With("id", id)
		}
	}
	w.named[owner] = targets
	return nil
}

func (w *fixture) UsedBy(context.Context, string, int) ([]object.Use, int, error) { return nil, 0, nil }

func (w *fixture) check(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked = append(w.checked, what)
	return w.refusal
}

func (w *fixture) Unattended(_ context.Context, id string, _ map[string]any) error {
	return w.check(id)
}
func (w *fixture) Check(_ context.Context, s runs.Submission) error { return w.check(s.Command) }
func (w *fixture) CheckPipeline(_ context.Context, s runs.PipelineSubmission) error {
	return w.check(s.Name)
}

// make scopes idempotency keys to the actor, as the real submitter does.
func (w *fixture) make(ctx context.Context, m made, k *runs.Idempotency) (*runs.Run, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		return nil, false, w.fails
	}
	m.Actor = actor.From(ctx)
	m.Account, _ = ctx.Value(accountKey{}).(string)
	key := m.Actor.ID + "\n" + k.Scope + "\n" + k.Key
	if id, ok := w.keys[key]; ok {
		return &runs.Run{ID: id}, true, nil
	}
	w.keys[key] = fmt.Sprintf("run_%d", len(w.keys)+1)
	w.made = append(w.made, m)
	return &runs.Run{ID: w.keys[key]}, false, nil
}

func (w *fixture) Launch(ctx context.Context, id string, l catalog.Launch) (*runs.Run, bool, error) {
	return w.make(ctx, made{Template: id, Launch: l}, l.Idempotency)
}

func (w *fixture) Submit(ctx context.Context, s runs.Submission) (*runs.Run, bool, error) {
	return w.make(ctx, made{Run: &s}, s.Idempotency)
}

func (w *fixture) SubmitPipeline(ctx context.Context, s runs.PipelineSubmission) (*runs.Run, bool, error) {
	return w.make(ctx, made{Pipeline: &s}, s.Idempotency)
}

// Seal binds a text to its record without encrypting it.
func (w *fixture) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	return append([]byte(record+"\n"), plain...), nil
}

func (w *fixture) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, []byte(record+"\n"))
	if !ok {
		return nil, errors.New("sealed for another record")
	}
	return plain, nil
}

// reader says of every run that it has ended.
type reader struct{ runs.Reader }

func (reader) Get(_ context.Context, id string) (*runs.Run, error) {
	return &runs.Run{ID: id, Status: runs.Succeeded}, nil
}

type hands struct{ at time.Time }

func (h hands) Now() time.Time { return h.at }

// lines stores the log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }

func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// bundle is the context with a real database.
type bundle struct {
	module.Result
	t       *testing.T
	d       *db.DB
	store   *sqlscheduling.Store
	fixture *fixture
	log     *lines
	params  module.Params
}

func eachEngine(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, nil)) })
}

func setup(t *testing.T, d *db.DB, edit func(p *module.Params)) *bundle {
	t.Helper()
	w := &fixture{
		levels: map[string]access.Level{}, orgs: map[string]bool{}, absent: map[string]bool{}, gone: map[string]bool{},
		named: map[string][]string{}, keys: map[string]string{}, scope: access.Everything(),
	}
	b := &bundle{t: t, d: d, store: sqlscheduling.New(d), fixture: w, log: &lines{}}
	clock := hands{start}
	b.params = module.Params{
		Schedules: b.store, Slots: b.store, Triggers: b.store, Deliveries: b.store,
		Launcher: w, Usage: w, Submitter: w, Checker: w, Runs: reader{},
		Unit: d, Clock: clock, IDs: ids.New(clock), Signals: d.Signals(), Local: time.UTC,
		Log:   slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Guard: w, Rights: w, Owners: w, Sealer: w, Recorder: w, Targets: masking{},
	}
	if edit != nil {
		edit(&b.params)
	}
	var err error
	if b.Result, err = module.New(b.params); err != nil {
		t.Fatal(err)
	}
	return b
}

// as returns the context of an account.
func (b *bundle) as(id string) context.Context {
	return actor.With(b.t.Context(), actor.Actor{Type: actor.User, ID: id, Name: "ada", IP: "192.0.2.9"})
}

// org creates an organization.
func (b *bundle) org(id string) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		q, err := b.d.Write(ctx)
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, "INSERT INTO orgs (id, name, created_at, created_by) VALUES (?, ?, ?, 'test')", id, id,
			db.At(start))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// id returns an id of a kind.
func id(prefix string, n int) string { return fmt.Sprintf("%s_%026d", prefix, n) }

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// fields returns the fields that a fault names.
func fields(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return ""
	}
	var out []string
	for _, x := range f.Fields {
		out = append(out, x.Location)
	}
	return strings.Join(out, " ")
}

// refused expects a fault with a code and a field.
func refused(t *testing.T, what string, err error, want fault.Code, field string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Reason() != want.Name || f.Kind != want.Kind || fields(err) != field {
		t.Errorf("%s: %v (naming %q), want %s naming %q", what, err, fields(err), want.Name, field)
	}
}

var invalid = fault.Code{Name: "invalid", Kind: fault.Invalid}

func digest(s string) [32]byte { return sha256.Sum256([]byte(s)) }

var _ scheduling.Sealer = (*fixture)(nil)

// grant grants an account all objects except one, which no account gets.
func (b *bundle) grant(user, but string, objects []string) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		q, err := b.d.Write(ctx)
		if err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM grants"); err != nil {
			return err
		}
		for _, o := range objects {
			if o == but {
				continue
			}
			_, err := q.ExecContext(ctx, "INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) "+
				"VALUES (?, ?, ?, 'read', ?, 'test', FALSE)", "grt_"+o, "user:"+user, o, db.At(start))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
