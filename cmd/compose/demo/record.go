package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// record collects the reports of an execution as an executor sends them.
type record struct {
	events []runs.Event
	log    strings.Builder
	hosts  map[string]*runs.HostSummary
	order  []string
	tasks  []runs.TaskSummary
	begun  time.Time // of the current task
	at     time.Time
}

func newRecord(start time.Time) *record {
	return &record{hosts: map[string]*runs.HostSummary{}, at: start, begun: start}
}

// add takes a step. The events get times, and numbers from next on.
func (r *record) add(s step, next int64) {
	r.at = r.at.Add(s.after)
	for _, e := range s.events {
		e.At, e.Seq = r.at.UTC().Truncate(time.Microsecond), next
		next++
		r.events = append(r.events, e)
		r.count(&e)
	}
	r.log.WriteString(s.text)
}

func (r *record) count(e *runs.Event) {
	switch e.Type {
	case runs.EventTaskStarted:
		r.begun = r.at
		r.tasks = append(r.tasks, runs.TaskSummary{Index: len(r.tasks), TaskID: e.TaskID, Play: e.Play, Task: e.Task})
		return
	case runs.EventHostOK, runs.EventHostFailed, runs.EventHostSkipped, runs.EventHostUnreachable:
	default:
		return
	}
	h := r.hosts[e.Host]
	if h == nil {
		h = &runs.HostSummary{Host: e.Host}
		r.hosts[e.Host] = h
		r.order = append(r.order, e.Host)
	}
	took := time.Duration(e.DurationMS) * time.Millisecond
	h.Duration += took
	t := &r.tasks[len(r.tasks)-1]
	t.Hosts++
	t.Mean += (took - t.Mean) / time.Duration(t.Hosts)
	t.Max, t.Duration = max(t.Max, took), r.at.Sub(r.begun)
	switch {
	case e.Type == runs.EventHostFailed:
		h.Failed++
		t.Failed++
	case e.Type == runs.EventHostUnreachable:
		h.Unreachable++
	case e.Type == runs.EventHostSkipped:
		h.Skipped++
		t.Skipped++
	default:
		h.OK++
		t.OK++
		if e.Changed {
			h.Changed++
			t.Changed++
		}
	}
}

// summaries returns the hosts with their worst outcomes, which it counts. Hosts without a failure of an execution that
// was cut short are incomplete.
func (r *record) summaries(complete bool) (list []runs.HostSummary, counts runs.HostCounts) {
	counts = runs.HostCounts{}
	for _, name := range r.order {
		h := *r.hosts[name]
		switch {
		case h.Unreachable > 0:
			h.Worst = runs.HostUnreachable
		case h.Failed > 0:
			h.Worst = runs.HostFailed
		case !complete:
			h.Worst = runs.HostIncomplete
		case h.Changed > 0:
			h.Worst = runs.HostChanged
		case h.OK > 0:
			h.Worst = runs.HostOK
		default:
			h.Worst = runs.HostSkipped
		}
		counts[h.Worst]++
		list = append(list, h)
	}
	return list, counts
}

// ending returns the end of the run. Its events and its output are those that are not stored yet.
func (r *record) ending(status runs.Status, started time.Time) runs.Ending {
	e := runs.Ending{Status: status, StartedAt: started, EndedAt: r.at, Events: r.events, Tasks: r.tasks,
		Isolation: runs.Isolation{Level: "namespaces", Profile: runs.StandardProfile}}
	e.Hosts, e.Counts = r.summaries(status == runs.Succeeded || status == runs.Failed)
	e.Touched = len(e.Hosts)
	if len(e.Counts) == 0 {
		e.Counts = nil
	}
	text := []byte(r.log.String())
	e.Log, e.LogBytes = runs.LogChunk{Data: text}, int64(len(text))
	sum := sha256.Sum256(text)
	e.LogSHA256 = hex.EncodeToString(sum[:])
	code := 0
	switch {
	case status == runs.Failed && len(r.hosts) > 0:
		code = 2
		if e.Counts[runs.HostFailed] == 0 {
			code = 4 // as the tool does if hosts are unreachable
		}
	case status == runs.Failed:
		code = 1
	}
	if status == runs.Succeeded || status == runs.Failed {
		e.ExitCode = &code
	}
	return e
}

// failed reports whether a host failed or was unreachable.
func (r *record) failed() bool {
	return slices.ContainsFunc(r.order, func(n string) bool { return r.hosts[n].Failed+r.hosts[n].Unreachable > 0 })
}
