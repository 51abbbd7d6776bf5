package record

import (
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
	// Excludes reports whether the run's limit leaves a host out. If it is nil, no host is.
	Excludes func(host string) bool
}

// Compare compares the redacted forms of a run and its baseline. Different secrets are no difference: otherwise a
// reader could test guesses of a secret by comparing with runs of its own.
func Compare(before, after Side, now time.Time) (*runs.Comparison, error) {
	c := &runs.Comparison{
		Run: Redact(after.Run), Baseline: Redact(before.Run),
		Before: before.Run.Duration(now), After: after.Run.Duration(now),
		Tasks: compareTasks(before.Tasks, after.Tasks),
	}
	c.Hosts, c.Outside = compareHosts(before, after)
	var err error
	c.ChangedFields, err = changedFields(c.Baseline, c.Run)
	return c, err
}

// compareHosts returns the verdict on each host of either run, by name, without those that the other run left out, and
// their number.
func compareHosts(before, after Side) (out []runs.HostChange, outside int) {
	all := map[string]runs.HostChange{}
	for _, h := range before.Hosts {
		all[h.Host] = runs.HostChange{Host: h.Host, Before: h.Worst}
	}
	for _, h := range after.Hosts {
		c := all[h.Host]
		c.Host, c.After = h.Host, h.Worst
		all[h.Host] = c
	}
	out = make([]runs.HostChange, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		c.Verdict = verdict(c.Before, c.After)
		if c.Verdict == runs.Gone && after.excludes(name) || c.Verdict == runs.Added && before.excludes(name) {
			outside++
			continue
		}
		out = append(out, c)
	}
	return out, outside
}

func (s *Side) excludes(host string) bool { return s.Excludes != nil && s.Excludes(host) }

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

// broken reports whether a host failed; a rescued or ignored failure does not count.
func broken(o runs.Outcome) bool {
	return o == runs.HostFailed || o == runs.HostUnreachable || o == runs.HostIncomplete
}

// compareTasks sums the times of each task name: the tasks of the newer run in its order, then those that only the
// older one has.
func compareTasks(before, after []runs.TaskSummary) []runs.TaskChange {
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

// changedFields returns the names of the settings in which two redacted runs differ, as in the record, sorted.
func changedFields(before, after *runs.Run) ([]string, error) {
	a, err := settings(before)
	if err != nil {
		return nil, err
	}
	b, err := settings(after)
	if err != nil {
		return nil, err
	}
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
	return out, nil
}

// settings returns the settings of a redacted run as the members of its record, without those that have zero values.
func settings(shown *runs.Run) (map[string]any, error) {
	r := *shown
	r.ShardHosts = nil
	// The reference of a stored target depends on its address and key.
	r.Spec.Notifications = slices.Clone(r.Spec.Notifications)
	for i, n := range r.Spec.Notifications {
		r.Spec.Notifications[i] = n.Masked()
	}
	out, err := inputs(&r)
	if err != nil {
		return nil, err
	}
	if len(r.Labels) > 0 {
		out["labels"] = r.Labels
	}
	for k, v := range map[string]string{"name": r.Name, "change": r.Change, "commit": r.Commit} {
		if v != "" {
			out[k] = v
		}
	}
	return out, nil
}
