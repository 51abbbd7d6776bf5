package catalog_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/catalog"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hands is a clock that the test sets.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *hands) move(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.now = h.now.Add(d) }

// bundle is the context on a real database.
type bundle struct {
	module.Result
	References catalog.References
	Materials  catalog.Materials
	Background *module.Background

	t         testing.TB
	d         *db.DB
	store     *sqlcatalog.Store
	rights    *sqlidentity.Store
	clock     *hands
	trail     *audittest.Recorder
	guard     *guard
	checkouts *checkouts
	collector *collector
	runs      *requests
	limits    *limits
	sealer    *sealer
	material  module.MaterialParams
	params    module.Params
}

func eachEngine(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d)) })
}

// onSQLite returns a bundle for tests that are independent of the database engine.
func onSQLite(t *testing.T) *bundle {
	t.Helper()
	return setup(t, dbtest.Open(t, db.SQLite, migrations.FS))
}

func setup(t testing.TB, d *db.DB) *bundle {
	t.Helper()
	b := &bundle{
		t: t, d: d, store: sqlcatalog.New(d), rights: sqlidentity.New(d),
		clock: &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)},
		trail: &audittest.Recorder{}, guard: newGuard(), checkouts: newCheckouts(), collector: &collector{},
		runs: &requests{}, limits: &limits{kept: map[runs.SlotKey]int{}},
		sealer: newSealer(t, 1),
	}
	s := b.store
	log, gen := slog.New(slog.DiscardHandler), ids.New(b.clock)
	b.material = module.MaterialParams{
		Projects: s, Inventories: s, Versions: s, Sources: s, Templates: s, Unit: d, Clock: b.clock, Log: log,
		Refreshes: s, RefreshQueue: s, Signals: d.Signals(),
		Checkouts: b.checkouts, Collector: b.collector, Recorder: b.trail, Sealer: b.sealer,
		Config: module.Config{TempDir: t.TempDir()},
	}
	b.params = module.Params{
		Projects: s, Inventories: s, Versions: s, Sources: s, Templates: s, Usage: s,
		Unit: d, Clock: b.clock, IDs: gen, Log: log,
		Checkouts: b.checkouts, Histories: b.checkouts, Recorder: b.trail, Sealer: b.sealer,
		Objects: objects{b.rights, d}, Guard: b.guard,
		Owners:    b.guard,
		Submitter: b.runs, Checker: b.runs, Runs: b.runs, Targets: masking{}, Limits: b.limits,
	}
	b.make()
	return b
}

// make creates the context from the parameters, and stops it at the end of the test.
func (b *bundle) make() {
	b.t.Helper()
	m, err := module.NewMaterials(b.material)
	if err != nil {
		b.t.Fatal(err)
	}
	b.params.Parts = m.Parts
	b.References, b.Materials, b.Background = m.References, m.Materials, m.Parts.Background
	if b.Result, err = module.New(b.params); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := m.Parts.Background.Stop(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
}

// objects adapts the store as the context of identity does.
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

// requests accepts run requests according to its settings, and records them.
type requests struct {
	mu        sync.Mutex
	live      map[string][]string // active runs, by the objects that they name
	refuses   error
	checked   int
	single    []runs.Submission
	pipelines []runs.PipelineSubmission
}

func (r *requests) accept(s *runs.Submission, p *runs.PipelineSubmission, take bool) (*runs.Run, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.refuses != nil:
		return nil, false, r.refuses
	case !take:
		r.checked++
		return nil, false, nil
	case s != nil:
		r.single = append(r.single, *s)
	default:
		r.pipelines = append(r.pipelines, *p)
	}
	return &runs.Run{ID: "run_1"}, false, nil
}

func (r *requests) Submit(_ context.Context, s runs.Submission) (*runs.Run, bool, error) {
	return r.accept(&s, nil, true)
}

func (r *requests) SubmitPipeline(_ context.Context, p runs.PipelineSubmission) (*runs.Run, bool, error) {
	return r.accept(nil, &p, true)
}

func (r *requests) Check(_ context.Context, s runs.Submission) error {
	_, _, err := r.accept(&s, nil, false)
	return err
}

func (r *requests) CheckPipeline(_ context.Context, p runs.PipelineSubmission) error {
	_, _, err := r.accept(nil, &p, false)
	return err
}

func (*requests) Objects(context.Context, string) ([]string, error) { return nil, nil }

func (r *requests) Unfinished(_ context.Context, object string, limit int) ([]string, int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.live[object]
	return list[:min(limit, len(list))], len(list), nil
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

// project returns the input for a project.
func project(name string) catalog.Project {
	p := catalog.Project{RepoURL: "https://git.example.com/ops/site.git", Branch: "main"}
	p.Name = name
	return p
}

const hostsINI = "[web]\nw1\nw2\n[db]\nd1\n"

func inventory(name string) catalog.Inventory {
	i := catalog.Inventory{Content: []byte(hostsINI)}
	i.Name = name
	return i
}

func source(name, inventoryID string) catalog.InventorySource {
	s := catalog.InventorySource{Kind: catalog.HTTPSource, InventoryID: inventoryID,
		Config: catalog.SourceConfig{URL: "https://cmdb.example.com/hosts"}}
	s.Name = name
	return s
}

func template(name string) catalog.Template {
	t := catalog.Template{TemplateSpec: catalog.TemplateSpec{Playbook: "site.yml"}}
	t.Name = name
	return t
}

func (b *bundle) project(name string) catalog.Project {
	b.t.Helper()
	return must[catalog.Project](b.t)(b.Projects.Create(b.t.Context(), project(name)))
}

func (b *bundle) inventory(name string) catalog.Inventory {
	b.t.Helper()
	return must[catalog.Inventory](b.t)(b.Inventories.Create(b.t.Context(), inventory(name)))
}

func (b *bundle) source(name, inventoryID string) catalog.InventorySource {
	b.t.Helper()
	return must[catalog.InventorySource](b.t)(b.Sources.Create(b.t.Context(), source(name, inventoryID)))
}

func (b *bundle) template(t catalog.Template) catalog.Template {
	b.t.Helper()
	return must[catalog.Template](b.t)(b.Templates.Create(b.t.Context(), t))
}

// org creates an organization.
func (b *bundle) org(id string) string {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.rights.InsertOrg(ctx, identity.Org{ID: id, Name: id, CreatedAt: b.clock.Now()})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// field returns the member that a fault names.
func field(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Location
	}
	return ""
}

// eventually polls until the condition holds.
func (b *bundle) eventually(what string, condition func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatalf("never: %s", what)
		}
	}
}
