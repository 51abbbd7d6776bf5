package audit

import (
	"cmp"
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/audit/internal/heads"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/prove"
	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/modules/audit/internal/report/change"
	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/register"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/modules/audit/internal/upkeep"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context.
var Module = fx.Module("audit", fx.Provide(New, NewProver, NewReporter))

// Upkeep runs the background work of the context with the application.
var Upkeep = fx.Module("audit.upkeep", fx.Invoke(func(life fx.Lifecycle, b *upkeep.Background) {
	life.Append(fx.StartStopHook(b.Start, b.Stop))
}))

// HeadCopies makes a worker that reaches the database store heads of the trail while the application runs. It needs an
// audit.HeadStore and a WorkerName in addition to Module.
var HeadCopies = fx.Module("audit.copies", fx.Invoke(func(
	life fx.Lifecycle, of audit.Heads, store audit.HeadStore, name WorkerName, log *slog.Logger,
) {
	c := NewHeadCopies(of, store, string(name), log)
	life.Append(fx.StartStopHook(c.Start, c.Stop))
}))

// WorkerName is the name under which a worker shows its stored heads.
type WorkerName string

// Params holds the dependencies of the context. Log may be nil.
type Params struct {
	fx.In

	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Tiles    audit.TileStore
	Anchors  audit.AnchorStore
	Identity audit.IdentityStore
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Config   Config
	Observer background.Observer `optional:"true"`
}

// Result is what the context provides. Start Background only after Opening, which also precedes every signature.
type Result struct {
	fx.Out

	Recorder   audit.Recorder
	Trail      audit.Trail
	Admin      audit.Admin
	Heads      audit.Heads
	Opening    *Opening
	Background *upkeep.Background
	Core       *Core
}

// Core holds the dependencies that the provers and the checks of the trail share.
type Core struct {
	p    Params
	tree *treelog.Tree
	who  *install.Install
}

// New builds the writing side of the context and starts nothing.
func New(p Params) (Result, error) {
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	tree := treelog.New(p.Reader, p.Tiles)
	recorder := record.New(record.Params{Chain: p.Chain, IDs: p.IDs})
	var load func() ([]byte, error)
	if p.Config.Keys != nil {
		load = p.Config.Keys.Load
	}
	who := install.New(install.Params{
		Unit: p.Unit, Identity: p.Identity, Chain: p.Chain, Reader: p.Reader, Anchors: p.Anchors, Tree: tree,
		Recorder: recorder,
		Clock:    p.Clock, IDs: p.IDs, Log: p.Log,
		Config: install.Config{Site: p.Config.site(), Version: p.Config.Version, HeadFile: p.Config.HeadFile, Load: load},
	})
	work := upkeep.New(upkeep.Params{
		Install: who, Chain: p.Chain, Reader: p.Reader, Tree: tree, Recorder: recorder, Unit: p.Unit, Clock: p.Clock,
		Log:    p.Log,
		Config: upkeep.Config{Beat: p.Config.Beat},
	})
	work.Log, work.Observer = p.Log, p.Observer
	return Result{
		Recorder: recorder,
		Trail:    record.NewTrail(p.Chain, p.Reader),
		Admin: heads.NewAdmin(heads.AdminParams{
			Install: who, Tree: tree, Recorder: recorder, Unit: p.Unit, Clock: p.Clock,
			Stores: heads.AdminStores{Chain: p.Chain, Identity: p.Identity, Anchors: p.Anchors, Tiles: p.Tiles},
		}),
		Heads: heads.New(heads.Params{
			Install: who, Identity: p.Identity, Anchors: p.Anchors, Unit: p.Unit, Clock: p.Clock, Log: p.Log,
			Apart: upkeep.Apart,
		}),
		Opening:    &Opening{keys: p.Config.Keys, stored: p.Identity, who: who},
		Background: work,
		Core:       &Core{p: p, tree: tree, who: who},
	}, nil
}

// NewHeadCopies returns the loop of a worker with a database that stores the newest head of a trail in the worker's
// directory. It shows the stored heads under the worker's name: at the start, once an hour, and before one replaces
// another. Between Start and Stop it runs one goroutine. A nil log logs nothing.
func NewHeadCopies(of audit.Heads, store audit.HeadStore, worker string, log *slog.Logger) *heads.Copies {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return heads.NewCopies(heads.CopiesParams{Heads: of, Store: store, Worker: worker, Log: log})
}

// NewProver returns the maker of signed files of c's trail. A run that has not ended is shown with its status.
func NewProver(c *Core, store runs.Store) audit.Prover {
	p := c.p
	return prove.New(prove.Params{
		Reader: p.Reader, Chain: p.Chain, Anchors: p.Anchors, HeadFile: p.Config.HeadFile, Tree: c.tree, Install: c.who,
		Clock: p.Clock,
		Settings: prove.Settings{
			Service: keys.Product{Name: "writ", Version: p.Config.Version}, VerifyPage: "/verify", Beat: p.Config.Beat,
			Outsiders: p.Config.Outsiders,
			Status:    statusOf(store),
		},
	})
}

// ReporterParams holds the dependencies of the documents for people.
type ReporterParams struct {
	fx.In

	Core    *Core
	Runs    runs.Reader
	Changes estate.Changes
	Prover  audit.Prover
	Licence audit.Licence
}

// NewReporter returns the maker of documents for people.
func NewReporter(p ReporterParams) audit.Reporter {
	c := p.Core.p
	dossiers := evidence.New(evidence.Params{Runs: p.Runs, Chain: c.Reader, Anchors: c.Anchors, Prover: p.Prover,
		Clock: c.Clock})
	return reporter{
		dossiers: dossiers,
		changes:  change.New(change.Params{Changes: p.Changes, Evidence: dossiers, Clock: c.Clock}),
		register: register.New(register.Params{Chain: c.Reader, Runs: p.Runs, Licence: p.Licence, Clock: c.Clock}),
	}
}

// reporter makes each kind of document.
type reporter struct {
	dossiers *evidence.Evidence
	changes  *change.Reports
	register *register.Register
}

func (r reporter) Evidence(ctx context.Context, run string) (audit.Evidence, error) {
	return r.dossiers.Evidence(ctx, run)
}

func (r reporter) Change(ctx context.Context, name string) ([]byte, error) {
	return r.changes.Change(ctx, name)
}

func (r reporter) Register(ctx context.Context, p audit.Period) ([]byte, error) {
	return r.register.Register(ctx, p)
}
