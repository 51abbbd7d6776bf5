package parent

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// WarnOutputsConflict is the code of the warning that shards set one output to different values.
const WarnOutputsConflict = "outputs_conflict"

// MergeShards derives the end of a split from its ended shards: the state by roll-up, the outputs in the order of
// finish times with the last one winning, the counts summed, and each distinct warning once, but that no host was
// touched only if none was in any shard. The caller sets ID, From and At.
func MergeShards(shards []*runs.Run) runs.Move {
	m := runs.Move{Counts: runs.HostCounts{}}
	var states []runs.Status
	for _, s := range shards {
		states = append(states, s.Status)
		for o, n := range s.Hosts {
			m.Counts[o] += n
		}
		m.Touched += s.HostsTouched
		m.Warnings = addWarnings(m.Warnings, s.Warnings)
	}
	if m.Touched > 0 {
		m.Warnings = slices.DeleteFunc(m.Warnings, func(w runs.Warning) bool { return w.Code == runs.WarnNoHostsMatched })
	}
	m.To = runs.Roll(states)
	var conflicts []string
	m.Outputs, conflicts = mergeOutputs(shards)
	if len(conflicts) > 0 {
		m.Warnings = append(m.Warnings, runs.Warning{Code: WarnOutputsConflict,
			Message: "shards set different values, the last to finish wins: " + strings.Join(conflicts, ", ")})
	}
	if m.To != runs.Succeeded {
		m.Error = tally(states)
	}
	return m
}

func addWarnings(to, more []runs.Warning) []runs.Warning {
	for _, w := range more {
		if !slices.Contains(to, w) {
			to = append(to, w)
		}
	}
	return to
}

func mergeOutputs(shards []*runs.Run) (runs.Vars, []string) {
	order := slices.Clone(shards)
	slices.SortStableFunc(order, func(a, b *runs.Run) int { return a.EndedAt.Compare(b.EndedAt) })
	var out runs.Vars
	odd := map[string]bool{}
	for _, s := range order {
		for k, v := range s.Outputs {
			if was, ok := out[k]; ok && !bytes.Equal(was, v) {
				odd[k] = true
			}
		}
		out = out.Merge(s.Outputs)
	}
	return out, slices.Sorted(maps.Keys(odd))
}

func tally(states []runs.Status) string {
	n := map[runs.Status]int{}
	for _, s := range states {
		n[s]++
	}
	var parts []string
	for _, s := range []runs.Status{runs.Failed, runs.Interrupted, runs.Canceled} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return fmt.Sprintf("of %d shards: %s", len(states), strings.Join(parts, ", "))
}

// FailedShards returns the host lists of the failed and interrupted shards, by index. A retry runs these again.
// Canceled shards are left out, since a user canceled them.
func FailedShards(shards []*runs.Run) [][]string {
	var out [][]string
	for _, s := range shards {
		if (s.Status == runs.Failed || s.Status == runs.Interrupted) && len(s.Spec.LimitHosts) > 0 {
			out = append(out, s.Spec.LimitHosts)
		}
	}
	return out
}
