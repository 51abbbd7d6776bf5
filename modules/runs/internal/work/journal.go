package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Watchers receive the reported output and events of runs.
type Watchers interface {
	ShowLog(runID string, c runs.LogChunk)
	ShowEvents(runID string, events []runs.Event)
}

// Journal stores what holders report.
type Journal struct {
	machine   *lifecycle.Machine
	logs      runs.LogStore
	events    runs.EventStore
	summaries runs.SummaryStore
	watchers  Watchers
	cap       int64
}

var _ runs.Journal = (*Journal)(nil)

// NewJournal returns a journal that stores at most logCap bytes and one chunk of the output of each run.
func NewJournal(m *lifecycle.Machine, logs runs.LogStore, events runs.EventStore, w Watchers, logCap int64) *Journal {
	return &Journal{machine: m, logs: logs, events: events, summaries: m.Summaries, watchers: w, cap: logCap}
}

func (j *Journal) AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (int64, error) {
	var state runs.LogState
	err := j.machine.Do(ctx, func(ctx context.Context) error {
		var err error
		state, err = j.storeChunk(ctx, l, c)
		return err
	})
	if err != nil {
		return 0, err
	}
	j.watchers.ShowLog(l.RunID, c)
	return state.Next, nil
}

// storeChunk stores a chunk. It drops bytes from the middle of output that exceeds the cap, since the beginning and
// the end say the most.
func (j *Journal) storeChunk(ctx context.Context, l runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	state, err := j.logs.AppendLog(ctx, l, c)
	if err != nil || state.Next-state.Omitted <= j.cap {
		return state, err
	}
	first := state.Omitted == 0
	state, err = j.logs.TrimLog(ctx, l, j.cap/2, state.Next-j.cap/2)
	if err != nil || !first || state.Omitted == 0 {
		return state, err
	}
	w := runs.Warning{Code: runs.WarnLogTruncated, Message: "the output outgrew its limit; its middle was not kept"}
	return state, j.machine.Store.Amend(ctx, l.RunID, runs.Amendment{Lease: &l, Warnings: []runs.Warning{w}})
}

func (j *Journal) AppendEvents(ctx context.Context, l runs.Lease, events []runs.Event) (int64, error) {
	var next int64
	err := j.machine.Do(ctx, func(ctx context.Context) error {
		var err error
		next, err = j.events.AppendEvents(ctx, l, events)
		return err
	})
	if err != nil {
		return 0, err
	}
	j.watchers.ShowEvents(l.RunID, events)
	return next, nil
}

func (j *Journal) SaveHosts(ctx context.Context, l runs.Lease, hosts []runs.HostSummary) error {
	return j.underLease(ctx, l, func(ctx context.Context) error { return j.summaries.SaveHosts(ctx, l.RunID, hosts) })
}

func (j *Journal) SaveTasks(ctx context.Context, l runs.Lease, tasks []runs.TaskSummary) error {
	return j.underLease(ctx, l, func(ctx context.Context) error { return j.summaries.SaveTasks(ctx, l.RunID, tasks) })
}

func (j *Journal) SaveFacts(ctx context.Context, l runs.Lease, facts []runs.HostFacts) error {
	return j.underLease(ctx, l, func(ctx context.Context) error {
		if err := j.summaries.SaveFacts(ctx, l.RunID, facts); err != nil {
			return err
		}
		return j.machine.Signals.Signal(ctx, events.TopicFacts, "")
	})
}

// underLease checks the lease and calls save, for stores that do not check leases themselves.
func (j *Journal) underLease(ctx context.Context, l runs.Lease, save func(ctx context.Context) error) error {
	return j.machine.Do(ctx, func(ctx context.Context) error {
		if err := j.machine.Store.Amend(ctx, l.RunID, runs.Amendment{Lease: &l}); err != nil {
			return err
		}
		return save(ctx)
	})
}

// Digest returns the SHA-256 of the stored part of a run's output below the given offset.
func (j *Journal) Digest(ctx context.Context, runID string, to int64) (string, error) {
	h := sha256.New()
	if to > 0 {
		err := j.logs.ReadLog(ctx, runID, 0, to, func(c runs.LogChunk) error {
			_, err := h.Write(c.Data)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
