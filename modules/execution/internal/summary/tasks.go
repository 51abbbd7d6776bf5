package summary

import (
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// taskKey identifies a task. Serial batches repeat a play's tasks under the same ids, and count as one task each.
type taskKey struct{ play, id string }

type task struct {
	runs.TaskSummary
	started time.Time // of the current batch
	last    time.Time // the last result of that batch
	total   time.Duration
}

func keyOf(e *runs.Event) taskKey {
	if e.TaskID != "" {
		return taskKey{play: e.Play, id: "#" + e.TaskID}
	}
	return taskKey{play: e.Play, id: e.Task}
}

// enter begins a batch of a task: its first or that of further hosts.
func (s *Summary) enter(e *runs.Event) {
	t := s.task(e)
	if t == nil {
		return
	}
	t.started, t.last = e.At, e.At
	s.current = t
}

// leave ends the current batch.
func (s *Summary) leave() {
	if t := s.current; t != nil {
		t.Duration += max(0, t.last.Sub(t.started))
		t.started, t.last = time.Time{}, time.Time{}
		s.current = nil
	}
}

// taskOf finds the task of a result. A result without a start opens its task, which starts at the start time of the
// result.
func (s *Summary) taskOf(e *runs.Event) *task {
	if e.Task == "" && e.TaskID == "" {
		return s.current
	}
	t := s.task(e)
	if t == nil {
		return nil
	}
	if t.started.IsZero() {
		t.started = e.At.Add(-time.Duration(e.DurationMS) * time.Millisecond)
	}
	if t != s.current {
		s.leave()
		s.current = t
	}
	return t
}

func (s *Summary) task(e *runs.Event) *task {
	k := keyOf(e)
	t := s.tasks[k]
	if t == nil && len(s.tasks) < MaxTasks {
		t = &task{TaskSummary: runs.TaskSummary{Index: len(s.order), TaskID: e.TaskID, Play: e.Play, Task: e.Task}}
		s.tasks[k] = t
		s.order = append(s.order, t)
	}
	return t
}

func (t *task) add(e *runs.Event, d time.Duration) {
	switch {
	case e.Type == runs.EventHostOK, e.Type == runs.EventHostFailed && e.Ignored:
		t.OK++
		if e.Changed {
			t.Changed++
		}
	case e.Type == runs.EventHostSkipped:
		t.Skipped++
	default:
		t.Failed++
	}
	t.Hosts++
	t.total += d
	t.Max = max(t.Max, d)
	if e.At.After(t.last) {
		t.last = e.At
	}
}

// Tasks returns the summaries in the order in which the tasks first ran.
func (s *Summary) Tasks() []runs.TaskSummary {
	s.leave()
	out := make([]runs.TaskSummary, 0, len(s.order))
	for _, t := range s.order {
		sum := t.TaskSummary
		if t.Hosts > 0 {
			sum.Mean = t.total / time.Duration(t.Hosts)
		}
		out = append(out, sum)
	}
	return out
}
