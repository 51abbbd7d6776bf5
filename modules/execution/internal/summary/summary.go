package summary

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Caps on the numbers of hosts and tasks; the summary omits those beyond them.
const (
	MaxHosts = 200_000
	MaxTasks = 100_000
)

// Summary is the fold. It is not safe for concurrent use; the zero value is not ready, see New.
type Summary struct {
	hosts    map[string]*host
	names    []string // in order of appearance
	tasks    map[taskKey]*task
	order    []*task
	current  *task
	play     int
	recap    map[string]runs.HostStats
	finished bool
}

// host is the result of one host so far.
type host struct {
	runs.HostSummary
	play int  // the position of the last play with a result of the host
	fine bool // some result is ok, which an ignored failure is not
}

// New returns an empty summary.
func New() *Summary {
	return &Summary{hosts: make(map[string]*host), tasks: make(map[taskKey]*task)}
}

// Add folds one event in. The event's host and task names are those that are stored.
func (s *Summary) Add(e *runs.Event) {
	switch e.Type {
	case runs.EventPlayStarted:
		s.play++
		s.leave()
	case runs.EventTaskStarted:
		s.leave()
		s.enter(e)
	case runs.EventHostOK, runs.EventHostFailed, runs.EventHostUnreachable, runs.EventHostSkipped:
		s.result(e)
	case runs.EventStats:
		s.finished = json.Unmarshal(e.Stats, &s.recap) == nil
	default: // every other type has no outcome of a host
	}
}

// Empty reports whether no event concerned a host or a task.
func (s *Summary) Empty() bool { return len(s.names) == 0 && len(s.order) == 0 && len(s.recap) == 0 }

// Touched returns the number of hosts with at least one result.
func (s *Summary) Touched() int {
	n := 0
	for _, h := range s.hosts {
		if h.play >= 0 {
			n++
		}
	}
	return n
}

func (s *Summary) result(e *runs.Event) {
	d := time.Duration(e.DurationMS) * time.Millisecond
	if t := s.taskOf(e); t != nil {
		t.add(e, d)
	}
	h := s.host(e.Host)
	if h == nil {
		return
	}
	h.play = s.play
	h.Duration += d
	h.fine = h.fine || e.Type == runs.EventHostOK
	count(&h.HostSummary, e)
}

func (s *Summary) host(name string) *host {
	if h := s.hosts[name]; h != nil || name == "" || len(s.hosts) >= MaxHosts {
		return h
	}
	h := &host{HostSummary: runs.HostSummary{Host: name}, play: -1}
	s.hosts[name] = h
	s.names = append(s.names, name)
	return h
}

// count adds a result as the tool's recap does: a failed result counts as changed only if its failure is ignored, and
// then it counts as ok too.
func count(h *runs.HostSummary, e *runs.Event) {
	switch {
	case e.Type == runs.EventHostOK, e.Type == runs.EventHostFailed && e.Ignored:
		h.OK++
		if e.Changed {
			h.Changed++
		}
		if e.Ignored {
			h.Ignored++
		}
	case e.Type == runs.EventHostFailed:
		h.Failed++
	case e.Type == runs.EventHostUnreachable:
		h.Unreachable++
	case e.Type == runs.EventHostSkipped:
		h.Skipped++
	}
}

// Hosts returns the summaries in order of appearance. If complete is true, the run reached its recap and the recap's
// counts are used. Otherwise a host that had a result in the last play and did not fail is incomplete, since its
// remaining tasks are unknown.
func (s *Summary) Hosts(complete bool) []runs.HostSummary {
	complete = complete && s.finished
	if complete {
		for name := range s.recap {
			s.host(name)
		}
	}
	out := make([]runs.HostSummary, 0, len(s.names))
	for _, name := range s.names {
		h := s.hosts[name]
		sum := h.HostSummary
		if r, ok := s.recap[name]; ok && complete {
			sum.OK, sum.Changed, sum.Failed, sum.Unreachable = r.OK, r.Changed, r.Failed, r.Unreachable
			sum.Skipped, sum.Rescued, sum.Ignored = r.Skipped, r.Rescued, r.Ignored
		}
		sum.Worst = worst(&sum, h.fine)
		if !complete && h.play == s.play && sum.Failed == 0 && sum.Unreachable == 0 {
			sum.Worst = runs.HostIncomplete
		}
		out = append(out, sum)
	}
	return out
}

// worst is ignored for a host with nothing but ignored failures. Where others were ok, the host is as well as they are;
// its count of ignored failures says the rest.
func worst(h *runs.HostSummary, fine bool) runs.Outcome {
	switch {
	case h.Unreachable > 0:
		return runs.HostUnreachable
	case h.Failed > 0:
		return runs.HostFailed
	case h.Rescued > 0:
		return runs.HostRescued
	case h.Ignored > 0 && !fine && h.OK <= h.Ignored:
		return runs.HostIgnored
	case h.Changed > 0:
		return runs.HostChanged
	case h.OK > 0:
		return runs.HostOK
	default:
		return runs.HostSkipped
	}
}

// Counts counts hosts by their worst outcome; it returns nil for none.
func Counts(hosts []runs.HostSummary) runs.HostCounts {
	if len(hosts) == 0 {
		return nil
	}
	out := make(runs.HostCounts)
	for i := range hosts {
		out[hosts[i].Worst]++
	}
	return out
}
