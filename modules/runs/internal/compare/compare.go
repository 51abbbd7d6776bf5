package compare

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Side is a run with its results.
type Side struct {
	Run   *runs.Run
	Hosts []runs.HostSummary
	Tasks []runs.TaskSummary
}

// Sides compares a run with its baseline.
func Sides(before, after Side, now time.Time) *runs.Comparison {
	return &runs.Comparison{
		Run: after.Run, Baseline: before.Run,
		Before: before.Run.Duration(now), After: after.Run.Duration(now),
		Hosts:         Hosts(before.Hosts, after.Hosts),
		Tasks:         Tasks(before.Tasks, after.Tasks),
		ChangedFields: Fields(before.Run, after.Run),
	}
}

// Hosts judges every host of either run, by name.
func Hosts(before, after []runs.HostSummary) []runs.HostChange {
	all := map[string]runs.HostChange{}
	for _, h := range before {
		all[h.Host] = runs.HostChange{Host: h.Host, Before: h.Worst}
	}
	for _, h := range after {
		c := all[h.Host]
		c.Host, c.After = h.Host, h.Worst
		all[h.Host] = c
	}
	out := make([]runs.HostChange, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		c.Verdict = verdict(c.Before, c.After)
		out = append(out, c)
	}
	return out
}

func verdict(before, after runs.Outcome) runs.Verdict {
	switch {
	case before == "":
		return runs.Added
	case after == "":
		return runs.Gone
	case broken(before) && broken(after):
		return runs.StillFailing
	case broken(before):
		return runs.Recovered
	case broken(after):
		return runs.Broke
	default:
		return runs.Same
	}
}

// broken says that a host did not get through: a rescued or ignored failure did.
func broken(o runs.Outcome) bool {
	return o == runs.HostFailed || o == runs.HostUnreachable || o == runs.HostIncomplete
}

// Tasks sums the times of each task name, in the order of the newer run, then those that only the older one had.
func Tasks(before, after []runs.TaskSummary) []runs.TaskChange {
	var out []runs.TaskChange
	at := map[string]int{}
	place := func(name string) *runs.TaskChange {
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, runs.TaskChange{Task: name})
		}
		return &out[i]
	}
	for _, t := range after {
		place(t.Task).After += t.Duration
	}
	for _, t := range before {
		place(t.Task).Before += t.Duration
	}
	return out
}

// Fields names the settings in which two runs differ, as the record names them, sorted.
func Fields(before, after *runs.Run) []string {
	a, b := settings(before), settings(after)
	var out []string
	for k := range a {
		if !reflect.DeepEqual(a[k], b[k]) {
			out = append(out, k)
		}
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// settings returns what a run was asked to do as the members of its record. Absent members are zero ones.
func settings(r *runs.Run) map[string]any {
	out := map[string]any{}
	// A spec consists of plain values and always encodes.
	raw, _ := json.Marshal(&r.Spec)
	_ = json.Unmarshal(raw, &out)
	if len(r.Vars) > 0 {
		vars := map[string]any{}
		for k, v := range r.Vars {
			var x any
			if json.Unmarshal(v, &x) != nil {
				x = string(v)
			}
			vars[k] = x
		}
		out["extra_vars"] = vars
	}
	if len(r.Labels) > 0 {
		out["labels"] = r.Labels
	}
	for k, v := range map[string]string{"name": r.Name, "change": r.Change, "commit": r.Commit} {
		if v != "" {
			out[k] = v
		}
	}
	if r.Graph != nil {
		steps := make([]runs.StepSpec, len(r.Graph.Steps))
		for i := range steps {
			steps[i] = r.Graph.Steps[i].StepSpec
		}
		out["steps"] = steps
	}
	return out
}
