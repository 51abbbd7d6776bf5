package catalog_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/fx"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	module "github.com/writ-automation/writ/modules/catalog"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// roles requires every port that the module provides.
type roles struct {
	fx.In

	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
	References  catalog.References
	Materials   catalog.Materials
}

// TestModule starts and stops the application. The Submitter is created between the two parts of the context, since it
// needs References. TestMain checks for remaining goroutines.
func TestModule(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	p, own := b.material, b.params
	var got roles
	app := fx.New(fx.NopLogger, module.Module,
		fx.Provide(
			fx.Annotate(func() *sqlcatalog.Store { return b.store },
				fx.As(new(catalog.ProjectStore)), fx.As(new(catalog.InventoryStore)), fx.As(new(catalog.InventoryVersionStore)),
				fx.As(new(catalog.SourceStore)),
				fx.As(new(catalog.TemplateStore)), fx.As(new(object.Usage)), fx.As(new(catalog.RefreshStore)),
				fx.As(new(catalog.RefreshQueue))),
			func() (tx.Unit, clock.Clock, ids.Generator, *slog.Logger) { return p.Unit, p.Clock, own.IDs, p.Log },
			func() (catalog.Checkouts, catalog.Histories, catalog.Collector, audit.Recorder, secrets.Sealer) {
				return p.Checkouts, own.Histories, p.Collector, p.Recorder, p.Sealer
			},
			func() (identity.Objects, access.Guard, access.Owners) { return own.Objects, own.Guard, own.Owners },
			func() notify.Targets { return masking{} },
			func(catalog.References) (runs.Submitter, runs.Checker) { return own.Submitter, own.Checker },
			func() runs.ObjectStore { return own.Runs },
		),
		fx.Supply(p.Config), fx.Invoke(func(r roles) { got = r }))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := got.Projects.Create(t.Context(), project("site"))
	if err != nil {
		t.Fatal(err)
	}
	b.eventually("the first synchronisation", func() bool {
		return must[catalog.Project](t)(got.Projects.Get(t.Context(), made.ID)).Commit != ""
	})
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := got.Projects.Sync(t.Context(), made.ID); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the stop: %v", err)
	}
}

// TestBackgroundStops ends active fetches and refreshes, and stores no result of them.
func TestBackgroundStops(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := b.scene()
		b.Background.Start()
		b.Background.Start()
		fetching, freeFetch := b.checkouts.block()
		defer freeFetch()
		collecting, freeCollect := b.collector.block()
		defer freeCollect()
		errs := make(chan error, 2)
		go func() { _, err := b.Projects.Sync(t.Context(), s.p.ID); errs <- err }()
		go func() { _, err := b.Sources.Refresh(t.Context(), s.s.ID); errs <- err }()
		<-fetching
		<-collecting
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Background.Stop(ended); err != nil && ended.Err() == nil {
			t.Error(err)
		}
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-errs; !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
		}
		p := must[catalog.Project](t)(b.Projects.Get(t.Context(), s.p.ID))
		src := must[catalog.InventorySource](t)(b.Sources.Get(t.Context(), s.s.ID))
		if p.LastError != "" || src.LastError != "" {
			t.Errorf("%q %q", p.LastError, src.LastError)
		}
		if list := b.trail.Take(); len(list) != 0 {
			t.Errorf("entries %+v", list)
		}
		b.Background.Start() // starts nothing after Stop
	})
}

// TestRequirementsElsewhere leaves requirements to executors, with the login of the project.
func TestRequirementsElsewhere(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	p := project("site")
	p.InstallDeps = true
	p = must[catalog.Project](t)(b.Projects.Create(t.Context(), p))
	plain := must[catalog.Project](t)(b.Projects.Create(t.Context(), project("plain")))
	for _, elsewhere := range []bool{false, true} {
		m := b.material
		m.Config.InstallElsewhere = elsewhere
		r, err := module.NewMaterials(m)
		if err != nil {
			t.Fatal(err)
		}
		deps, err := r.Materials.Tree(t.Context(), p.ID, firstCommit, t.TempDir()+"/tree")
		if err != nil || (deps.Roles == "") != elsewhere {
			t.Errorf("elsewhere is %t: %v %v", elsewhere, deps, err)
		}
		got, wanted, err := r.Requirements.Wanted(t.Context(), p.ID)
		if err != nil || wanted != elsewhere || wanted && (got.URL != p.RepoURL || got.ProjectID != p.ID) {
			t.Errorf("elsewhere is %t: %t %v %v", elsewhere, wanted, got, err)
		}
		if _, wanted, err := r.Requirements.Wanted(t.Context(), plain.ID); err != nil || wanted {
			t.Errorf("a project without requirements: %t %v", wanted, err)
		}
		_, _, err = r.Requirements.Wanted(t.Context(), "prj_none")
		if elsewhere != catalog.ProjectNotFound.Is(err) {
			t.Error(err)
		}
	}
}

// TestTree provides executors with a work tree and the project's installed requirements.
func TestTree(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	p := project("site")
	p.InstallDeps = true
	p = must[catalog.Project](t)(b.Projects.Create(t.Context(), p))
	deps, err := b.Materials.Tree(t.Context(), p.ID, firstCommit, t.TempDir()+"/tree")
	if err != nil || deps.Roles == "" {
		t.Error(deps, err)
	}
	if _, err := b.Materials.Tree(t.Context(), "prj_none", firstCommit,
		t.TempDir()+"/tree"); !catalog.ProjectNotFound.Is(err) {
		t.Error(err)
	}
	for _, c := range []struct {
		kind ids.Prefix
		id   string
		want bool
	}{{ids.Project, p.ID, true}, {ids.Inventory, p.ID, false}, {ids.Template, "tpl_x", false},
		{ids.Credential, b.credential(), false}} {
		if ok, err := b.References.Exists(t.Context(), c.kind, c.id); ok != c.want || err != nil {
			t.Error(c, ok, err)
		}
	}
}
