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
	rows := httpapi.Rows(hosts, func(h runs.HostSummary) HostBody {
		return HostBody{
			Host: h.Host, OK: h.OK, Changed: h.Changed, Failed: h.Failed, Unreachable: h.Unreachable, Skipped: h.Skipped,
			Rescued: h.Rescued, Ignored: h.Ignored, Worst: string(h.Worst), DurationMS: h.Duration.Milliseconds(),
		}
	})
	return HostList{Hosts: rows, Count: len(rows), Total: len(rows)}
}

func taskList(tasks []runs.TaskSummary) TaskList {
	rows := httpapi.Rows(tasks, func(t runs.TaskSummary) TaskBody {
		return TaskBody{
			Index: t.Index, TaskID: t.TaskID, Play: t.Play, Task: t.Task, OK: t.OK, Changed: t.Changed, Failed: t.Failed,
			Skipped: t.Skipped, Hosts: t.Hosts, DurationMS: t.Duration.Milliseconds(), MeanMS: t.Mean.Milliseconds(),
			MaxMS: t.Max.Milliseconds(),
		}
	})
	return TaskList{Tasks: rows, Count: len(rows), Total: len(rows)}
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
	Hosts         []HostChangeBody    `json:"hosts" doc:"Hosts of either run, without those that the other run's limit leaves out."`
	Outside       int                 `json:"outside" doc:"Hosts of one run that the limit of the other one leaves out; they are neither added nor gone."`
	Tasks         []TaskChangeBody    `json:"tasks"`
	ChangedFields []string            `json:"changed_fields"`
}

func (h *handlers) comparison(c *runs.Comparison) CompareBody {
	now := h.Clock.Now()
	return CompareBody{
		Run: httpapi.RunRecord(c.Run, now), Baseline: httpapi.RunRecord(c.Baseline, now),
		Duration: SpanBody{BeforeMS: c.Before.Milliseconds(), AfterMS: c.After.Milliseconds()},
		Hosts: httpapi.Rows(c.Hosts, func(x runs.HostChange) HostChangeBody {
			return HostChangeBody{Host: x.Host, Before: string(x.Before), After: string(x.After), Verdict: string(x.Verdict)}
		}),
		Tasks: httpapi.Rows(c.Tasks, func(t runs.TaskChange) TaskChangeBody {
			b, a := t.Before.Milliseconds(), t.After.Milliseconds()
			return TaskChangeBody{Task: t.Task, BeforeMS: b, AfterMS: a, DeltaMS: a - b}
		}),
		Outside:       c.Outside,
		ChangedFields: append([]string{}, c.ChangedFields...),
	}
}
