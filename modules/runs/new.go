package runs

import (
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/runs/internal/control"
	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/insight"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/query"
	"github.com/writ-automation/writ/modules/runs/internal/rights"
	"github.com/writ-automation/writ/modules/runs/internal/stream"
	"github.com/writ-automation/writ/modules/runs/internal/submit"
	"github.com/writ-automation/writ/modules/runs/internal/sweep"
	"github.com/writ-automation/writ/modules/runs/internal/work"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// References tells which objects of other contexts a request may name. An id of which it knows nothing is a NotFound
// fault that names the field.
type References = submit.References

// Stores are where this context keeps what it owns.
type Stores struct {
	Store       runs.Store
	Queue       runs.Queue
	Logs        runs.LogStore
	EventStore  runs.EventStore
	Summaries   runs.SummaryStore
	Keys        runs.KeyStore
	TicketStore runs.TicketStore
	Purger      runs.Purger
}

// Kernel is what every context needs of the process that it lives in.
type Kernel struct {
	Unit      tx.Unit
	Publisher events.Publisher
	Signals   events.Signals
	Clock     clock.Clock
	IDs       ids.Generator
	Log       *slog.Logger
}

// Params is all that the context is made of. References may be nil: then no inventory or project exists; so may Credentials: then no
// credential does.
type Params struct {
	Stores
	Kernel
	Tools      execution.Catalog
	References References
	// Credentials tells which credentials exist and whether a run can have them.
	Credentials secrets.References
	// Targets keeps what of notification targets is secret. Required.
	Targets notify.Targets
	// Recorder records what happens to runs, in the unit in which it happens.
	Recorder audit.Recorder
	// Guard decides for the callers of the driving ports, by what Objects tells of a run.
	Guard   access.Guard
	Objects runs.ObjectStore
	Config  Config
}

// Result is what the context provides. Background has to be started. What requests reach asks the guard; Worklist, Journal and
// Live are for executors and do not.
type Result struct {
	Submitter  runs.Submitter
	Checker    runs.Checker
	Controller runs.Controller
	Approver   runs.Approver
	Reader     runs.Reader
	Streamer   runs.Streamer
	Tickets    runs.Tickets
	Worklist   runs.Worklist
	Journal    runs.Journal
	Live       runs.Live
	Insight    runs.Insight
	Digests    runs.Digests
	Background *Background
}

// New makes the context and starts nothing. It returns an Invalid fault for settings that make no sense.
func New(p Params) (Result, error) {
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	if p.Targets == nil {
		return Result{}, errors.New("runs: nobody keeps notification targets")
	}
	if p.Guard == nil || p.Objects == nil {
		return Result{}, errors.New("runs: nobody decides who may read what")
	}
	if p.Recorder == nil {
		return Result{}, errors.New("runs: nobody records what is done")
	}
	cfg := p.Config.withDefaults()
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	s := &p.Stores
	hub := stream.NewHub()
	machine := &lifecycle.Machine{
		Unit: p.Unit, Store: s.Store, Summaries: s.Summaries, Events: s.EventStore, Recorder: p.Recorder, Publisher: p.Publisher,
		Signals: p.Signals, Clock: p.Clock, IDs: p.IDs, Waker: hub,
	}
	gate := rights.New(p.Guard, p.Objects)
	submitter := submit.New(machine, s.Keys, p.Tools, p.References, p.Credentials, p.Targets, gate)
	controller := control.New(machine, submitter)
	look := insight.New(s.Store, s.EventStore, s.Logs)
	journal := work.NewJournal(machine, s.Logs, s.EventStore, watchers{hub, look}, cfg.LogCap)
	sweeper := sweep.New(machine, s.Queue, journal, p.Log)
	streamer := stream.NewStreamer(hub, s.Store, s.EventStore, s.Logs, stream.Times{Poll: cfg.PollEvery, Beat: cfg.BeatAfter}).WithMatrix(look)
	retention := sweep.NewRetention(p.Unit, s.Purger, p.Clock, cfg.RetainRuns, cfg.RetainEvents)
	return Result{
		Submitter:  submitter,
		Checker:    submitter,
		Controller: guard.NewController(controller, gate),
		Approver:   guard.NewApprover(controller, gate),
		Reader:     guard.NewReader(query.New(s.Store, s.EventStore, s.Logs, s.Summaries, p.Clock), gate),
		Streamer:   guard.NewStreamer(streamer, gate),
		Tickets:    guard.NewTickets(stream.NewTickets(p.Unit, s.Store, s.TicketStore), gate),
		Worklist:   work.NewWorklist(machine, s.Queue, journal),
		Journal:    journal,
		Live:       hub,
		Insight:    guard.NewInsight(look, gate),
		Digests:    guard.NewDigests(query.NewDigests(machine, s.Logs), gate),
		Background: newBackground(sweeper, retention, hub, p.Signals, p.Log, cfg),
	}, nil
}

// watchers hands what was stored to those who follow a run and to those who ask about it.
type watchers struct {
	hub  *stream.Hub
	look *insight.Insight
}

// ShowLog implements work.Watchers.
func (w watchers) ShowLog(id string, c runs.LogChunk) { w.hub.ShowLog(id, c) }

// ShowEvents implements work.Watchers.
func (w watchers) ShowEvents(id string, list []runs.Event) {
	w.hub.ShowEvents(id, list)
	w.look.Observe(id, list)
}
