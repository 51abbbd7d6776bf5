package runs

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

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

// Module provides the driving ports of this context and runs its background work with the application.
var Module = fx.Module("runs", fx.Provide(provide), fx.Invoke(background))

type storeParams struct {
	fx.In

	Store       runs.Store
	Queue       runs.Queue
	Logs        runs.LogStore
	EventStore  runs.EventStore
	Summaries   runs.SummaryStore
	Keys        runs.KeyStore
	TicketStore runs.TicketStore
	Purger      runs.Purger
}

type kernelParams struct {
	fx.In

	Unit      tx.Unit
	Publisher events.Publisher
	Signals   events.Signals
	Clock     clock.Clock
	IDs       ids.Generator
	Log       *slog.Logger
}

type ownParams struct {
	fx.In

	Tools       execution.Catalog
	References  References         `optional:"true"`
	Credentials secrets.References `optional:"true"`
	Targets     notify.Targets
	Recorder    audit.Recorder
	Guard       access.Guard
	Objects     runs.ObjectStore
	Config      Config
}

type results struct {
	fx.Out

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

func provide(s storeParams, k kernelParams, o ownParams) (results, error) {
	r, err := New(Params{
		Stores: Stores{s.Store, s.Queue, s.Logs, s.EventStore, s.Summaries, s.Keys, s.TicketStore, s.Purger},
		Kernel: Kernel{k.Unit, k.Publisher, k.Signals, k.Clock, k.IDs, k.Log},
		Tools:  o.Tools, References: o.References, Credentials: o.Credentials, Targets: o.Targets, Recorder: o.Recorder, Guard: o.Guard, Objects: o.Objects,
		Config: o.Config,
	})
	if err != nil {
		return results{}, err
	}
	return results{
		Submitter: r.Submitter, Checker: r.Checker, Controller: r.Controller, Approver: r.Approver, Reader: r.Reader, Streamer: r.Streamer,
		Tickets: r.Tickets, Worklist: r.Worklist, Journal: r.Journal, Live: r.Live, Insight: r.Insight,
		Digests: r.Digests, Background: r.Background,
	}, nil
}

// background ties the background work to the application's life.
func background(l fx.Lifecycle, b *Background) {
	l.Append(fx.Hook{
		OnStart: func(context.Context) error { b.Start(); return nil },
		OnStop:  b.Stop,
	})
}
