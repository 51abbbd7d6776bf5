package pattern

import (
	"cmp"
	"slices"
	"strings"
)

// Variables returns what says which of some variables a host has: its own, then those of its groups, a child before its
// parents, and of equally deep groups the last by name. It is nil for an unknown host.
func (e *Index) Variables(names ...string) func(host string) map[string]any {
	depth := e.depths()
	return func(host string) map[string]any {
		h, ok := e.hosts[host]
		if !ok {
			return nil
		}
		groups := e.containing(h)
		slices.SortFunc(groups, func(a, b int32) int {
			return cmp.Or(cmp.Compare(depth[a], depth[b]), strings.Compare(e.of[a].name, e.of[b].name))
		})
		out := make(map[string]any)
		take := func(vars map[string]any) {
			for _, name := range names {
				if v, ok := vars[name]; ok {
					out[name] = v
				}
			}
		}
		for _, g := range groups {
			take(e.content.Groups[e.of[g].name].Vars)
		}
		take(e.content.Vars[host])
		return out
	}
}

// containing returns the groups that contain a host, also over others, each once.
func (e *Index) containing(h int32) []int32 {
	out := append([]int32{e.groups[all]}, e.direct[h]...)
	for i := 0; i < len(out); i++ {
		for _, p := range e.of[out[i]].parents {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// depths returns the length of the longest way from the root to each group. A parser accepts no cycles.
func (e *Index) depths() []int {
	out := make([]int, len(e.of))
	next := []int32{e.groups[all]}
	for len(next) > 0 {
		g := next[0]
		next = next[1:]
		for _, c := range e.of[g].children {
			if out[c] < out[g]+1 {
				out[c] = out[g] + 1
				next = append(next, c)
			}
		}
	}
	return out
}
