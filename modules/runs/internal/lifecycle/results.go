package lifecycle

import (
	"cmp"
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/ports/runs"
)

// Counted returns the ids of the runs whose results make up those of r: the newest attempt of each step, the shards,
// or r itself.
func Counted(r *runs.Run, children []*runs.Run) []string {
	switch r.Kind {
	case runs.Pipeline:
		latest := parent.LatestAttempts(children)
		var out []string
		for i := range r.Graph.Steps {
			if c := latest[r.Graph.Steps[i].Name]; c != nil {
				out = append(out, c.ID)
			}
		}
		return out
	case runs.Split:
		var out []string
		for _, k := range children {
			out = append(out, k.ID)
		}
		return out
	default:
		return []string{r.ID}
	}
}

// Hosts merges the summaries of the runs into one per host, sorted by name. It sums counts and times, and takes the
// worst outcome.
func Hosts(ctx context.Context, store runs.SummaryStore, of []string) ([]runs.HostSummary, error) {
	if len(of) == 1 {
		return store.Hosts(ctx, of[0])
	}
	byHost := map[string]runs.HostSummary{}
	for _, id := range of {
		list, err := store.Hosts(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			byHost[h.Host] = addHost(byHost[h.Host], h)
		}
	}
	out := make([]runs.HostSummary, 0, len(byHost))
	for _, h := range byHost {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b runs.HostSummary) int { return cmp.Compare(a.Host, b.Host) })
	return out, nil
}

func addHost(a, b runs.HostSummary) runs.HostSummary {
	b.OK += a.OK
	b.Changed += a.Changed
	b.Failed += a.Failed
	b.Unreachable += a.Unreachable
	b.Skipped += a.Skipped
	b.Rescued += a.Rescued
	b.Ignored += a.Ignored
	b.Duration += a.Duration
	if worse(a.Worst, b.Worst) {
		b.Worst = a.Worst
	}
	return b
}

// worse reports whether a host is as it was in the first part. Failures that were ignored in one part do not count for
// a host that was ok in another one, as within a part.
func worse(a, b runs.Outcome) bool {
	ok := func(o runs.Outcome) bool { return o == runs.HostOK || o == runs.HostChanged }
	switch {
	case a == runs.HostIgnored && ok(b):
		return false
	case b == runs.HostIgnored && ok(a):
		return true
	default:
		return rank(a) > rank(b)
	}
}

func rank(o runs.Outcome) int {
	return slices.Index(runs.Outcomes(), o)
}
