package catalog

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/writ-automation/writ/modules/catalog/internal/launch"
	"github.com/writ-automation/writ/modules/catalog/internal/material"
	"github.com/writ-automation/writ/modules/catalog/internal/mirror"
	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/modules/catalog/internal/refresh"
	"github.com/writ-automation/writ/modules/catalog/internal/source"
	"github.com/writ-automation/writ/modules/catalog/internal/stock"
	"github.com/writ-automation/writ/modules/catalog/internal/template"
	"github.com/writ-automation/writ/modules/catalog/internal/usage"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are where this context keeps what it owns.
type Stores struct {
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	Usage       catalog.Usage
}

// Kernel is what every context needs of the process that it lives in.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
}

// MaterialParams is what the part of the context is made of that those ask who make and execute runs. Every member but Logins, Log and
// Config is required.
type MaterialParams struct {
	Stores
	Kernel
	Checkouts catalog.Checkouts
	Collector catalog.Collector
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	// Sealer seals what of inventory sources is secret.
	Sealer secrets.Sealer
	// Logins may be nil: then no project with a credential can be fetched, and no source with one refreshed.
	Logins catalog.Logins
	Config Config
}

// Materials is the part of the context that knows nothing of runs, so that it can be made before them. Background has to be started.
type Materials struct {
	References catalog.References
	Materials  catalog.Materials
	Background *Background

	stores    Stores
	kernel    Kernel
	checkouts catalog.Checkouts
	recorder  audit.Recorder
	mirror    *mirror.Mirror
	refresher *refresh.Refresher
	sealer    secrets.Sealer
}

// NewMaterials makes that part and starts nothing. It returns an error where a dependency is missing.
func NewMaterials(p MaterialParams) (*Materials, error) {
	s, k := p.Stores, p.Kernel
	if s.Projects == nil || s.Inventories == nil || s.Sources == nil || s.Templates == nil || s.Usage == nil ||
		k.Unit == nil || k.Clock == nil || k.IDs == nil || p.Checkouts == nil || p.Collector == nil || p.Recorder == nil || p.Sealer == nil {
		return nil, errors.New("catalog: a dependency is missing")
	}
	temp, err := directory(p.Config.TempDir)
	if err != nil {
		return nil, err
	}
	if k.Log == nil {
		k.Log = slog.New(slog.DiscardHandler)
	}
	m := mirror.New(k.Unit, k.Clock, k.Log, s.Projects, p.Checkouts, p.Logins, p.Config.ReadOnly)
	r := refresh.New(refresh.Params{
		Unit: k.Unit, Clock: k.Clock, Log: k.Log, Recorder: p.Recorder, Projects: s.Projects, Inventories: s.Inventories,
		Sources: s.Sources, Collector: p.Collector, Logins: p.Logins, Sealer: p.Sealer, Mirror: m, TempDir: temp,
		ReadOnly: p.Config.ReadOnly,
	})
	return &Materials{
		References: material.NewReferences(s.Projects, s.Inventories, s.Templates, m),
		Materials:  material.NewMaterials(s.Projects, s.Inventories, s.Sources, m, r, k.Log),
		Background: &Background{m, r},
		stores:     s, kernel: k, checkouts: p.Checkouts, recorder: p.Recorder, mirror: m, refresher: r, sealer: p.Sealer,
	}, nil
}

// directory returns the path of a directory from the root, so that it means the same to every program that is told of it.
func directory(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("catalog: find the directory of work trees: %w", err)
	}
	return path, nil
}

// Params is what the rest of the context is made of. Every member is required.
type Params struct {
	Materials *Materials
	Objects   identity.Objects
	// Guard and Owners decide for the callers of the driving ports.
	Guard  access.Guard
	Owners access.Owners
	// Submitter and Checker take and judge the requests that templates make.
	Submitter runs.Submitter
	Checker   runs.Checker
	// Runs tells which runs still need an object.
	Runs runs.ObjectStore
	// Targets keeps what of notification targets is secret.
	Targets notify.Targets
}

// Result is what the context provides beside its materials.
type Result struct {
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
}

// New makes the rest of the context. It returns an error where a dependency is missing.
func New(p Params) (Result, error) {
	if p.Materials == nil || p.Objects == nil || p.Guard == nil || p.Owners == nil || p.Submitter == nil || p.Checker == nil || p.Runs == nil || p.Targets == nil {
		return Result{}, errors.New("catalog: a dependency is missing")
	}
	m, s := p.Materials, p.Materials.stores
	desk := usage.NewDesk(p.Guard, p.Owners, s.Usage, p.Runs)
	kernel := usage.Kernel{
		Unit: m.kernel.Unit, Clock: m.kernel.Clock, IDs: m.kernel.IDs, Log: m.kernel.Log, Recorder: m.recorder, Objects: p.Objects,
	}
	return Result{
		Projects:    project.New(kernel, desk, s.Projects, m.checkouts, m.mirror),
		Inventories: stock.New(kernel, desk, s.Inventories),
		Sources:     source.New(kernel, desk, s.Sources, m.refresher, m.sealer),
		Templates:   template.New(kernel, desk, s.Templates, p.Checker, p.Targets),
		Launcher:    launch.New(desk, s.Templates, p.Submitter, p.Checker),
	}, nil
}
