package runs

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// HostBody is the result of a run on one host.
type HostBody struct {
	Host        string `json:"host"`
	OK          int    `json:"ok"`
	Changed     int    `json:"changed"`
	Failed      int    `json:"failed"`
	Unreachable int    `json:"unreachable"`
	Skipped     int    `json:"skipped"`
	Rescued     int    `json:"rescued"`
	Ignored     int    `json:"ignored"`
	Worst       string `json:"worst"`
	DurationMS  int64  `json:"duration_ms"`
}

// TaskBody is the result of one task of a run.
type TaskBody struct {
	Index      int    `json:"index"`
	TaskID     string `json:"task_id,omitempty"`
	Play       string `json:"play,omitempty"`
	Task       string `json:"task"`
	OK         int    `json:"ok"`
	Changed    int    `json:"changed"`
	Failed     int    `json:"failed"`
	Skipped    int    `json:"skipped"`
	Hosts      int    `json:"hosts"`
	DurationMS int64  `json:"duration_ms"`
	MeanMS     int64  `json:"mean_ms"`
	MaxMS      int64  `json:"max_ms"`
}

// HostList is a run's hosts.
type HostList struct {
	Hosts []HostBody `json:"hosts"`
	Count int        `json:"count"`
	Total int        `json:"total"`
}

// TaskList is a run's tasks.
type TaskList struct {
	Tasks []TaskBody `json:"tasks"`
	Count int        `json:"count"`
	Total int        `json:"total"`
}

func hostList(hosts []runs.HostSummary) HostList {
	out := make([]HostBody, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, HostBody{
			Host: h.Host, OK: h.OK, Changed: h.Changed, Failed: h.Failed, Unreachable: h.Unreachable, Skipped: h.Skipped,
			Rescued: h.Rescued, Ignored: h.Ignored, Worst: string(h.Worst), DurationMS: h.Duration.Milliseconds(),
		})
	}
	return HostList{Hosts: out, Count: len(out), Total: len(out)}
}

func taskList(tasks []runs.TaskSummary) TaskList {
	out := make([]TaskBody, 0, len(tasks))
	for _, t := range tasks {
		out = append(out, TaskBody{
			Index: t.Index, TaskID: t.TaskID, Play: t.Play, Task: t.Task, OK: t.OK, Changed: t.Changed, Failed: t.Failed,
			Skipped: t.Skipped, Hosts: t.Hosts, DurationMS: t.Duration.Milliseconds(), MeanMS: t.Mean.Milliseconds(),
			MaxMS: t.Max.Milliseconds(),
		})
	}
	return TaskList{Tasks: out, Count: len(out), Total: len(out)}
}

// SpanBody is a time in the baseline and in the run.
type SpanBody struct {
	BeforeMS int64 `json:"before_ms"`
	AfterMS  int64 `json:"after_ms"`
}

// HostChangeBody is one host in both runs.
type HostChangeBody struct {
	Host    string `json:"host"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Verdict string `json:"verdict" enum:"broke,recovered,still_failing,same,added,gone"`
}

// TaskChangeBody is one task's time in both runs.
type TaskChangeBody struct {
	Task     string `json:"task"`
	BeforeMS int64  `json:"before_ms"`
	AfterMS  int64  `json:"after_ms"`
	DeltaMS  int64  `json:"delta_ms"`
}

// CompareBody is the comparison of a run with its baseline.
type CompareBody struct {
	Run           httpapi.RunsRunBody `json:"run"`
	Baseline      httpapi.RunsRunBody `json:"baseline"`
	Duration      SpanBody            `json:"duration"`
	Hosts         []HostChangeBody    `json:"hosts"`
	Tasks         []TaskChangeBody    `json:"tasks"`
	ChangedFields []string            `json:"changed_fields"`
}

func (h *handlers) comparison(c *runs.Comparison) CompareBody {
	now := h.Clock.Now()
	out := CompareBody{
		Run: httpapi.RunRecord(c.Run, now), Baseline: httpapi.RunRecord(c.Baseline, now),
		Duration: SpanBody{BeforeMS: c.Before.Milliseconds(), AfterMS: c.After.Milliseconds()},
		Hosts:    make([]HostChangeBody, 0, len(c.Hosts)), Tasks: make([]TaskChangeBody, 0, len(c.Tasks)),
		ChangedFields: append([]string{}, c.ChangedFields...),
	}
	for _, x := range c.Hosts {
		out.Hosts = append(out.Hosts, HostChangeBody{Host: x.Host, Before: string(x.Before), After: string(x.After),
			Verdict: string(x.Verdict)})
	}
	for _, t := range c.Tasks {
		b, a := t.Before.Milliseconds(), t.After.Milliseconds()
		out.Tasks = append(out.Tasks, TaskChangeBody{Task: t.Task, BeforeMS: b, AfterMS: a, DeltaMS: a - b})
	}
	return out
}
