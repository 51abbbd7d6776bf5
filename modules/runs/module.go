package runs

import (
	"cmp"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/control"
	"github.com/writ-automation/writ/modules/runs/internal/executors"
	"github.com/writ-automation/writ/modules/runs/internal/explain"
	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/insight"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/plans"
	"github.com/writ-automation/writ/modules/runs/internal/query"
	"github.com/writ-automation/writ/modules/runs/internal/stream"
	"github.com/writ-automation/writ/modules/runs/internal/submit"
	"github.com/writ-automation/writ/modules/runs/internal/windows"
	"github.com/writ-automation/writ/modules/runs/internal/work"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the driving ports of this context and runs its background work with the application.
var Module = fx.Module("runs", fx.Provide(New), fx.Invoke(func(life fx.Lifecycle, b Background) {
	life.Append(fx.StartStopHook(b.Start, b.Stop))
}))

// WorkModule provides the ports for an executor in a process without requests.
var WorkModule = fx.Module("runs", fx.Provide(NewWork))

// References reports which objects of other contexts a request may name. An unknown id is a NotFound fault that names
// the field.
type References = submit.References

// Params are the dependencies of the context. Log may be nil.
type Params struct {
	fx.In

	Store       runs.Store
	Queue       runs.Queue
	Logs        runs.LogStore
	EventStore  runs.EventStore
	Summaries   runs.SummaryStore
	Keys        runs.KeyStore
	TicketStore runs.TicketStore
	Purger      runs.Purger
	Slots       runs.SlotStore
	Waits       runs.WaitStore
	FacetStore  runs.FacetStore
	PlanStore   runs.PlanStore
	Tools       execution.Catalog
	// If References is nil, no inventory or project exists.
	References References `optional:"true"`
	// Materials refreshes the inventories of held runs. If it is nil, none are refreshed.
	Materials catalog.Materials `optional:"true"`
	// Credentials reports which credentials exist and whether a run can have them. If it is nil, no credential exists.
	Credentials secrets.References `optional:"true"`
	// Policies evaluates requests. If it is nil, there are no policies and no risk is graded.
	Policies policy.Evaluator `optional:"true"`
	// Hosts selects hosts by their facts. If it is nil, requests cannot do so.
	Hosts estate.HostQueries `optional:"true"`
	// Teams tells who is a member of the teams that approve. If it is nil, nobody is.
	Teams identity.TeamStore `optional:"true"`
	// Workers lists the executors, for explanations and warnings. It may be nil.
	Workers execution.WorkerStore `optional:"true"`
	// Repairs tells what runs that reconcile repair. If it is nil, their approval is not bound to that.
	Repairs runs.Repairs `optional:"true"`
	// Targets seals the secret parts of notification targets.
	Targets notify.Targets
	// Recorder records changes of runs, in the unit of work of the change.
	Recorder audit.Recorder
	// Guard checks the rights of callers of the driving ports to the objects of a run.
	Guard access.Guard
	// Operations decides whether a launch may cancel the runs that it replaces.
	Operations access.Operations
	Objects    runs.ObjectStore
	Config     Config
	Unit       tx.Unit
	Publisher  events.Publisher
	Signals    events.Signals
	Clock      clock.Clock
	IDs        ids.Generator
	Log        *slog.Logger
	Observer   background.Observer `optional:"true"`
}

// Result is what the context provides. The caller must start Background. The ports for requests check the rights of the
// caller; Worklist, Journal, Redactor and Live are for executors and do
// not.
type Result struct {
	fx.Out

	Submitter  runs.Submitter
	Checker    runs.Checker
	Controller runs.Controller
	Reconciler runs.Reconciler
	Approver   runs.Approver
	Reader     runs.Reader
	Facets     runs.FacetReader
	Streamer   runs.Streamer
	Feed       runs.Feed
	Tickets    runs.Tickets
	Worklist   runs.Worklist
	Journal    runs.Journal
	Planner    runs.Planner
	Plans      runs.Plans
	Targets    runs.PlanTargets
	Planned    events.Subscription `group:"events.subscriptions"`
	Redactor   runs.Redactor
	Live       runs.Live
	Insight    runs.Insight
	Digests    runs.Digests
	Limits     runs.Limits
	Background Background
}

// New makes the context and starts nothing. It returns an Invalid fault for invalid settings.
func New(p Params) (Result, error) {
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	if p.Recorder == nil {
		return Result{}, errors.New("runs: changes need a recorder")
	}
	cfg := p.Config.withDefaults()
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	hub := stream.NewHub()
	machine := &lifecycle.Machine{
		Unit: p.Unit, Store: p.Store, Summaries: p.Summaries, Events: p.EventStore, Slots: p.Slots,
		Waits: p.Waits, Recorder: p.Recorder, Publisher: p.Publisher,
		Signals: p.Signals, Clock: p.Clock, IDs: p.IDs, Waker: hub, Inventories: p.References,
	}
	binder := binding.New(p.References, p.Credentials, p.Materials).WithRepairs(p.Repairs)
	machine.Binder = binder
	gate := guard.NewGate(p.Guard, p.Objects).WithOperations(p.Operations)
	submitter := submit.New(machine, p.Keys, p.Tools, p.References, p.Credentials, p.Targets, p.Policies, binder,
		gate).WithHosts(p.Hosts).WithServed(executors.New(cfg.Serves, p.Workers, p.Clock)).WithQueue(p.Queue).
		WithPlans(p.PlanStore)
	asked := windows.New(p.Policies, binder)
	controller := control.New(machine, submitter, p.Teams, binder, asked)
	guarded := guard.NewController(controller, gate)
	look := insight.New(p.Store, p.EventStore, p.Logs, &explain.Explainer{Runs: p.Store, Binder: binder, Teams: p.Teams,
		Slots: p.Slots, Waits: p.Waits, Workers: p.Workers, Gate: gate, Clock: p.Clock})
	journal := work.NewJournal(machine, p.Logs, p.EventStore, watchers{hub, look}, cfg.LogCap)
	planned := plans.New(machine, p.PlanStore, submitter)
	sweeper := work.NewSweeper(machine, p.Queue, journal, p.Log)
	streamer := stream.NewStreamer(hub, p.Store, p.EventStore, p.Logs,
		stream.Times{Poll: cfg.PollEvery, Beat: cfg.BeatAfter}).WithMatrix(look)
	feed := stream.NewFeed(p.Store)
	retention := work.NewRetention(p.Unit, p.Purger, p.Clock, cfg.RetainRuns, cfg.RetainEvents)
	return Result{
		Submitter:  guard.NewSubmitter(submitter, gate),
		Checker:    submitter,
		Controller: guarded,
		Reconciler: guarded,
		Approver:   guard.NewApprover(controller, gate),
		Reader:     guard.NewReader(query.New(p.Store, p.EventStore, p.Logs, p.Summaries, p.Clock, binder), gate),
		Facets:     guard.NewFacets(p.FacetStore, gate),
		Streamer:   guard.NewStreamer(streamer, gate),
		Feed:       guard.NewFeed(feed, gate, p.Store),
		Tickets:    guard.NewTickets(stream.NewTickets(p.Unit, p.Store, p.TicketStore), gate),
		Worklist:   work.NewWorklist(machine, p.Queue, journal, binder, p.Log),
		Journal:    journal,
		Planner:    planned,
		Plans:      guard.NewPlans(planned, gate),
		Targets:    planned,
		Planned:    planned.Subscription(),
		Redactor:   work.NewRedactor(machine),
		Live:       hub,
		Insight:    guard.NewInsight(look, gate),
		Limits:     lifecycle.NewLimits(machine),
		Digests:    guard.NewDigests(query.NewDigests(machine, p.Logs), gate),
		Background: newBackground(sweeper, work.NewHeld(machine, p.Queue, cfg.ApprovalTTL, p.Log), retention,
			work.NewRefresher(machine, p.Queue, binder, p.Policies, p.Log), hub, &p, cfg).
			withWindows(windows.NewWorker(machine, asked, p.Log), &p).withFeed(feed, &p),
	}, nil
}

// watchers passes stored output and events to the live streams and to the cached insight.
type watchers struct {
	hub  *stream.Hub
	look *insight.Insight
}

func (w watchers) ShowLog(id string, c runs.LogChunk) { w.hub.ShowLog(id, c) }

func (w watchers) ShowEvents(id string, list []runs.Event) {
	w.hub.ShowEvents(id, list)
	w.look.Observe(id, list)
}

// WorkParams are the dependencies of the part for an executor in a process without requests. Every member is required
// except References.
type WorkParams struct {
	fx.In

	Store     runs.Store
	Queue     runs.Queue
	Logs      runs.LogStore
	Events    runs.EventStore
	Summaries runs.SummaryStore
	Slots     runs.SlotStore
	Plans     runs.PlanStore
	Recorder  audit.Recorder
	// Config gives the cap of logs. The servers apply the retention.
	Config    Config
	Unit      tx.Unit
	Publisher events.Publisher
	Signals   events.Signals
	Clock     clock.Clock
	IDs       ids.Generator
	// References names the hosts of runs with exclusive hosts, and reports which inventories are refreshed before a run.
	// If it is nil, no hosts are known and nothing is refreshed.
	References References `optional:"true"`
	// Credentials reports the versions of credentials, to which held steps are bound. If it is nil, they are not.
	Credentials secrets.References `optional:"true"`
	// Log may be nil.
	Log *slog.Logger `optional:"true"`
}

// Work is the part for an executor in a process without requests. Such a process has no live streams and no background
// work: servers end the runs that lost their holder.
type Work struct {
	fx.Out

	Worklist runs.Worklist
	Journal  runs.Journal
	// Planner stores plans. A server makes the runs that apply them.
	Planner  runs.Planner
	Redactor runs.Redactor
}

// NewWork makes the part for an executor. It returns an Invalid fault for invalid settings.
func NewWork(p WorkParams) (Work, error) {
	if err := p.Config.Validate(); err != nil {
		return Work{}, err
	}
	binder := binding.New(p.References, p.Credentials, nil)
	machine := &lifecycle.Machine{
		Unit: p.Unit, Store: p.Store, Summaries: p.Summaries, Events: p.Events, Slots: p.Slots,
		Recorder: p.Recorder, Publisher: p.Publisher,
		Signals: p.Signals, Clock: p.Clock, IDs: p.IDs, Waker: noWatchers{}, Inventories: p.References, Binder: binder,
	}
	journal := work.NewJournal(machine, p.Logs, p.Events, noWatchers{}, p.Config.withDefaults().LogCap)
	return Work{
		Worklist: work.NewWorklist(machine, p.Queue, journal, binder,
			cmp.Or(p.Log, slog.New(slog.DiscardHandler))), Journal: journal,
		Planner:  plans.New(machine, p.Plans, nil),
		Redactor: work.NewRedactor(machine),
	}, nil
}

// noWatchers ignores what is reported.
type noWatchers struct{}

func (noWatchers) Wake(string) {}

func (noWatchers) ShowLog(string, runs.LogChunk) {}

func (noWatchers) ShowEvents(string, []runs.Event) {}
