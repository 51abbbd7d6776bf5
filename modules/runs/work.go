package runs

import (
	"errors"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/work"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// WorkParams is what the part of the context is made of that serves an executor in a process without requests. Every member is required.
type WorkParams struct {
	Store     runs.Store
	Queue     runs.Queue
	Logs      runs.LogStore
	Events    runs.EventStore
	Summaries runs.SummaryStore
	Kernel
	Recorder audit.Recorder
	// Config gives the cap of logs; what is kept for how long is decided by the servers.
	Config Config
}

// Work is that part. Nobody follows runs in such a process, and it does nothing by itself: runs that lost their holder are ended by servers.
type Work struct {
	Worklist runs.Worklist
	Journal  runs.Journal
}

// NewWork makes it. It returns an Invalid fault for settings that make no sense, and an error where a dependency is missing.
func NewWork(p WorkParams) (Work, error) {
	if err := p.Config.Validate(); err != nil {
		return Work{}, err
	}
	k := p.Kernel
	if p.Store == nil || p.Queue == nil || p.Logs == nil || p.Events == nil || p.Summaries == nil || p.Recorder == nil || k.Unit == nil ||
		k.Publisher == nil || k.Signals == nil || k.Clock == nil || k.IDs == nil {
		return Work{}, errors.New("runs: a dependency is missing")
	}
	machine := &lifecycle.Machine{
		Unit: k.Unit, Store: p.Store, Summaries: p.Summaries, Events: p.Events, Recorder: p.Recorder, Publisher: k.Publisher,
		Signals: k.Signals, Clock: k.Clock, IDs: k.IDs, Waker: nobody{},
	}
	journal := work.NewJournal(machine, p.Logs, p.Events, nobody{}, p.Config.withDefaults().LogCap)
	return Work{Worklist: work.NewWorklist(machine, p.Queue, journal), Journal: journal}, nil
}

// nobody follows runs.
type nobody struct{}

// Wake implements lifecycle.Waker.
func (nobody) Wake(string) {}

// ShowLog implements work.Watchers.
func (nobody) ShowLog(string, runs.LogChunk) {}

// ShowEvents implements work.Watchers.
func (nobody) ShowEvents(string, []runs.Event) {}
