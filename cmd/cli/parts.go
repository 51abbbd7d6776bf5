package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// A run with parts has no output and no results of its own. The client reads the results of its parts when it has
// ended.

// maxParts limits the parts whose failures are read.
const maxParts = 32

// partsEnd prints the shards of a split, and the sums of their hosts and their failures together.
func (c *client) partsEnd(ctx context.Context, s screen, id string) {
	var page struct {
		Shards []record `json:"shards"`
	}
	if c.call(ctx, http.MethodGet, runPath(id, "/shards"), nil, &page) != nil {
		return
	}
	rows := make([][]field, 0, len(page.Shards))
	var groups []failure
	for i := range page.Shards {
		r := &page.Shards[i]
		if i < maxRows {
			rows = append(rows, []field{
				{text: oneLine(r.ID, 80)}, {text: oneLine(r.state(), 20), status: r.state()},
				{text: seconds(r.DurationMS), number: true},
				{text: fmt.Sprint(r.HostsTouched), number: true},
			})
		}
		if r.Status == "failed" && i < maxParts {
			groups = merge(groups, c.failures(ctx, r.ID, &outcome{}))
		}
	}
	_, _ = fmt.Fprintln(s.w)
	s.table([]string{"SHARD", "STATUS", "TOOK", "HOSTS"}, rows)
	if more := len(page.Shards) - len(rows); more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s\n", count(more, "more shard"))
	}
	c.hostSums(ctx, s, id)
	printFailures(s, groups)
	_, _ = fmt.Fprintln(s.w)
}

// merge adds the groups of one shard to those of the others.
func merge(all, more []failure) []failure {
	for _, g := range more {
		i := slices.IndexFunc(all, func(f failure) bool {
			return f.Task == g.Task && f.Outcome == g.Outcome && f.Message == g.Message
		})
		if i < 0 {
			all = append(all, g)
			continue
		}
		all[i].Count += g.Count
		all[i].Hosts = append(all[i].Hosts, g.Hosts...)
	}
	return all
}

// hostSums prints the sums of each host from the server, the worst first.
func (c *client) hostSums(ctx context.Context, s screen, id string) {
	var page struct {
		Hosts []struct {
			Host                                                        string
			OK, Changed, Failed, Unreachable, Skipped, Rescued, Ignored int
			Worst                                                       string
		} `json:"hosts"`
	}
	if c.call(ctx, http.MethodGet, runPath(id, "/hosts"), nil, &page) != nil || len(page.Hosts) == 0 {
		return
	}
	by := make(map[string]tally, len(page.Hosts))
	names := make([]string, 0, len(page.Hosts))
	for _, h := range page.Hosts {
		// The server's "ok" includes changed and ignored results.
		by[h.Host] = tally{h.Skipped, max(0, h.OK-h.Changed-h.Ignored), h.Changed, h.Ignored, h.Rescued, h.Failed,
			h.Unreachable}
		names = append(names, h.Host)
	}
	slices.SortStableFunc(names, func(a, b string) int { return by[b].worst() - by[a].worst() })
	_, _ = fmt.Fprintln(s.w)
	visible := names[:min(len(names), maxRows)]
	s.table(sums(visible, by))
	if more := len(names) - len(visible); more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s, none of them worse\n", count(more, "more host"))
	}
}
