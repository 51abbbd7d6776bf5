package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/modules/catalog/internal/source"
	"github.com/writ-automation/writ/modules/catalog/internal/template"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the driving ports of this context and runs its background work with the application. It has two
// constructors, because the context of runs is created between them: it needs References, and the Launcher needs it.
var Module = fx.Module("catalog", fx.Provide(provideMaterials, New))

// MaterialModule provides References and Materials to a process without requests, such as an executor. It fetches
// nothing on a schedule, which servers do. It removes the mirrors of deleted projects, and does refreshes of sources.
var MaterialModule = fx.Module("catalog", fx.Provide(func(life fx.Lifecycle, p MaterialParams) (MaterialResult, error) {
	r, err := NewMaterials(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Parts.Background.StartWork, r.Parts.Background.Stop))
	}
	return r, err
}))

// RelayWorkerModule does the refreshes of sources in a worker process without a database.
var RelayWorkerModule = fx.Module("catalog", fx.Invoke(func(life fx.Lifecycle, p RelayWorkerParams) error {
	temp, err := directory(p.Config.TempDir)
	if err != nil {
		return err
	}
	loops := source.NewExecutor(source.ExecutorParams{Refreshes: p.Refreshes, Collector: p.Collector, Log: p.Log,
		Worker: p.Config.Worker, Queues: p.Config.Queues, TempDir: temp}).Loops()
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { loops.Start(); return nil },
		OnStop:  loops.Stop,
	})
	return nil
}))

// RelayWorkerParams are the dependencies of RelayWorkerModule.
type RelayWorkerParams struct {
	fx.In

	Refreshes catalog.Refreshes
	Collector catalog.Collector
	Log       *slog.Logger
	Config    Config
}

// MaterialParams are the dependencies of the part of the context that does not need runs. Log may be nil.
type MaterialParams struct {
	fx.In

	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Versions    catalog.InventoryVersionStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	Checkouts   catalog.Checkouts
	Collector   catalog.Collector
	// Refreshes and RefreshQueue are the refreshes that executors do. Signals wake them; nil: they are found by polling.
	Refreshes    catalog.RefreshStore
	RefreshQueue catalog.RefreshQueue
	Signals      events.Signals `optional:"true"`
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	// Sealer seals the secret members of inventory sources.
	Sealer secrets.Sealer
	// Logins may be nil: then projects and sources with a credential cannot be fetched or refreshed.
	Logins catalog.Logins `optional:"true"`
	Unit   tx.Unit
	Clock  clock.Clock
	Log    *slog.Logger
	Config Config
	// Observer may be nil.
	Observer background.Observer `optional:"true"`
}

// MaterialResult is the result of NewMaterials.
type MaterialResult struct {
	fx.Out

	Parts      *Parts
	References catalog.References
	Materials  catalog.Materials
	Refreshes  catalog.Refreshes
	// Requirements are those that executors install.
	Requirements catalog.Requirements
}

// Parts are shared by both parts of the context. The caller starts Background.
type Parts struct {
	Background *Background
	mirror     *project.Mirror
	refresher  *source.Refresher
	indexes    *inventories.Indexes
}

func provideMaterials(life fx.Lifecycle, p MaterialParams) (MaterialResult, error) {
	r, err := NewMaterials(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Parts.Background.Start, r.Parts.Background.Stop))
	}
	return r, err
}

// NewMaterials creates the part of the context that does not need runs. It starts nothing.
func NewMaterials(p MaterialParams) (MaterialResult, error) {
	temp, err := directory(p.Config.TempDir)
	if err != nil {
		return MaterialResult{}, err
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	m := project.NewMirror(p.Unit, p.Clock, p.Log, p.Projects, p.Checkouts, p.Logins, p.Config.ReadOnly)
	contents := inventories.Contents{InventoryStore: p.Inventories, InventoryVersionStore: p.Versions}
	r := source.NewRefresher(source.RefresherParams{
		Unit: p.Unit, Clock: p.Clock, Log: p.Log, Recorder: p.Recorder, Projects: p.Projects, Inventories: contents,
		Sources: p.Sources, Collector: p.Collector, Logins: p.Logins, Sealer: p.Sealer, Mirror: m,
		TempDir:   temp,
		Refreshes: p.Refreshes, Queue: p.Config.SourceQueue, Signals: p.Signals,
		ReadOnly: p.Config.ReadOnly,
	})
	work := source.NewWork(r, p.RefreshQueue)
	x := source.NewExecutor(source.ExecutorParams{Refreshes: work, Collector: p.Collector, Signals: p.Signals, Log: p.Log,
		Worker: p.Config.Worker, Queues: p.Config.Queues, TempDir: temp})
	indexes := inventories.NewIndexes(p.Inventories)
	found := materials{p.Projects, p.Inventories, p.Sources, m, r, p.Log, p.Config.InstallElsewhere}
	return MaterialResult{
		References: references{p.Projects, p.Inventories, p.Sources, p.Templates, m, indexes},
		Materials:  found, Requirements: found,
		Refreshes: work,
		Parts:     &Parts{Background: newBackground(m, r, x, p), mirror: m, refresher: r, indexes: indexes},
	}, nil
}

// directory returns the absolute path of a directory, because programs run in other working directories.
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

// Params are the dependencies of the other part of the context.
type Params struct {
	fx.In

	Parts       *Parts
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Versions    catalog.InventoryVersionStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	Usage       object.Usage
	Checkouts   catalog.Checkouts
	Histories   catalog.Histories
	Recorder    audit.Recorder
	Sealer      secrets.Sealer
	Objects     identity.Objects
	// Guard and Owners check the rights of callers of the driving ports.
	Guard  access.Guard
	Owners access.Owners
	// Submitter and Checker accept and validate the run requests of templates.
	Submitter runs.Submitter
	Checker   runs.Checker
	// Limits keeps how many runs of a template and on an inventory have a slot at a time; nil keeps no limits.
	Limits runs.Limits `optional:"true"`
	// Runs lists the active runs that need an object.
	Runs runs.ObjectStore
	// Targets seals the secret members of notification targets.
	Targets notify.Targets
	Unit    tx.Unit
	Clock   clock.Clock
	IDs     ids.Generator
	Log     *slog.Logger
	Config  Config
}

// Result is the result of New.
type Result struct {
	fx.Out

	Projects    catalog.Projects
	Commits     catalog.ProjectCommits
	Inventories catalog.Inventories
	Versions    catalog.InventoryVersions
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
}

// New creates the part of the context that needs runs.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("catalog: changes need a recorder")
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	permissions := &object.Permissions{Guard: p.Guard, Owners: p.Owners, Usage: p.Usage, Runs: p.Runs}
	kernel := object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder, Objects: p.Objects}
	contents := inventories.Contents{InventoryStore: p.Inventories, InventoryVersionStore: p.Versions}
	projects := project.New(kernel, permissions, p.Projects, p.Checkouts, p.Histories, p.Parts.mirror)
	stored := inventories.New(kernel, permissions, contents, p.Parts.indexes, p.Limits)
	return Result{
		Projects:    projects,
		Commits:     projects,
		Inventories: stored,
		Versions:    inventories.NewVersions(stored),
		Sources:     source.New(kernel, permissions, p.Sources, p.Parts.refresher, p.Sealer),
		Templates: template.New(kernel, permissions, p.Templates, p.Checker, p.Targets, p.Limits,
			p.Config.privileged),
		Launcher: template.NewLauncher(permissions, p.Templates, p.Submitter, p.Checker),
	}, nil
}
