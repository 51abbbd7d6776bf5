package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/runs"
)

// tasks returns the tasks of a run or of a parent's children. Tasks of shards are merged by position and name; those
// of steps follow each other.
func (q *Reader) tasks(ctx context.Context, r *runs.Run, children []*runs.Run) ([]runs.TaskSummary, error) {
	of := lifecycle.Counted(r, children)
	if len(of) == 1 {
		return q.summaries.Tasks(ctx, of[0])
	}
	var out []runs.TaskSummary
	at := map[runs.TaskSummary]int{} // by position, play and task
	for _, id := range of {
		list, err := q.summaries.Tasks(ctx, id)
		if err != nil {
			return nil, err
		}
		base := 0
		if r.Kind == runs.Pipeline {
			base = len(out)
		}
		for _, t := range list {
			t.Index += base
			key := runs.TaskSummary{Index: t.Index, Play: t.Play, Task: t.Task}
			if i, ok := at[key]; ok {
				out[i] = addTask(out[i], t)
				continue
			}
			at[key] = len(out)
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b runs.TaskSummary) int { return cmp.Compare(a.Index, b.Index) })
	for i := range out {
		out[i].Index = i
	}
	return out, nil
}

// addTask merges one task of two shards. The shards run concurrently, so that the longer time counts.
func addTask(a, b runs.TaskSummary) runs.TaskSummary {
	if n := time.Duration(a.Hosts + b.Hosts); n > 0 {
		a.Mean = (a.Mean*time.Duration(a.Hosts) + b.Mean*time.Duration(b.Hosts)) / n
	}
	a.OK += b.OK
	a.Changed += b.Changed
	a.Failed += b.Failed
	a.Skipped += b.Skipped
	a.Hosts += b.Hosts
	a.Duration = max(a.Duration, b.Duration)
	a.Max = max(a.Max, b.Max)
	return a
}
